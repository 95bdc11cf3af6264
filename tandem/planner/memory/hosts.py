"""A host's memory, and what an earlier start of the same deployment logged."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tandem.planner.specs import SpecModel

if TYPE_CHECKING:
    from tandem.settings import Settings


class HostMemory(SpecModel):
    """The memory of one host's GPUs, in bytes for each GPU."""

    total: int
    """What CUDA counts as the device's memory (cudaMemGetInfo); on unified memory the host's."""
    free: int | None = None
    """What is free before vLLM starts (on unified memory MemAvailable), or None: not looked at."""
    unified: bool = False
    device: str | None = None
    """The GPU's name as nvidia-smi prints it, ``cpu`` for vLLM on CPUs, or None: not known."""

    @property
    def available(self) -> int:
        """Return what is free, or all when nobody has looked."""
        return self.total if self.free is None else self.free

    @property
    def is_cpu(self) -> bool:
        """Tell whether vLLM computes on the CPU."""
        return self.device == "cpu"

    def requested(self, utilization: float) -> int:
        """Return what vLLM asks for (``request_memory``, vllm/v1/worker/utils.py, 0.19.1)."""
        return math.ceil(self.total * utilization)


class Measured(SpecModel):
    """What a start with the same model, image, GPU and parallel sizes logged, for each rank."""

    origin: str
    """Where and when, in words, for the messages."""
    weights_bytes: int | None = None
    """``Model loading took …``; with several stages it differs between ranks and is not used."""
    non_kv_bytes: int | None = None
    """Memory that was asked for less the one left for the KV cache, weights included."""
    kv_budget_bytes: int | None = None
    """``Available KV cache memory``; counts instead of the rest, if the utilization is the same."""


def declared_memory(settings: Settings) -> dict[str, HostMemory]:
    """Return the memory that the stack file declares, by host name."""
    return {
        host.name: HostMemory(total=host.memory.total, unified=host.memory.unified)
        for host in settings.hosts
        if host.memory
    }
