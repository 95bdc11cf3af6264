"""The memory of every host: as the stack file declares it, else as the survey found it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.memory.hosts import HostMemory, declared_memory
from tandem.units import MIB

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tandem.settings import Settings
    from tandem.survey.facts import Facts, HostFacts
    from tandem.survey.gpus import Gpu


_STEADY = 16 * MIB
"""MemTotal differs by a few KiB between hosts of one kind, and after a boot."""


def host_memory(settings: Settings, facts: Facts) -> dict[str, HostMemory]:
    """Return the memory of the hosts that are known, by host name.

    What is free is always as found: nobody declares it.
    """
    known = declared_memory(settings)
    for host, seen in zip(settings.hosts, facts.hosts, strict=False):
        found = found_memory(seen, seen.used_gpus(host.gpus))
        declared = known.get(host.name)
        if found is not None and declared is not None:
            unified = declared.unified or found.unified
            found = found.model_copy(update={"total": declared.total, "unified": unified})
        if found is not None:
            known[host.name] = found
    return known


def found_memory(host: HostFacts, gpus: Sequence[Gpu]) -> HostMemory | None:
    """Return the memory of these GPUs of a host, of the one with the least where they differ.

    None when it could not be seen.
    """
    if any(gpu.is_unified for gpu in gpus):
        return _unified(host, gpus)
    if gpus:
        return _apart(host, gpus)
    # Boards such as Jetson have GPUs and no nvidia-smi.
    has_gpus = host.gpus or host.gpu_problem or {"runtime", "CDI"} & set(host.docker.gpu_ways or ())
    return None if has_gpus else _of_cpu(host)


def _unified(host: HostFacts, gpus: Sequence[Gpu]) -> HostMemory | None:
    """Take the host's memory for the GPU's, and MemAvailable for what is free (vllm#48140)."""
    if host.memory is None:
        return None
    return HostMemory(
        total=host.memory.total // _STEADY * _STEADY,
        free=_with_own(host, host.memory.available, gpus),
        unified=True,
        device=gpus[0].name,
    )


def _apart(host: HostFacts, gpus: Sequence[Gpu]) -> HostMemory:
    free = [_with_own(host, gpu.memory_free, [gpu]) for gpu in gpus]
    known = [size for size in free if size is not None]
    return HostMemory(
        total=min(_total(gpu) for gpu in gpus),
        free=min(known) if len(known) == len(free) else None,
        device=gpus[0].name,
    )


def _of_cpu(host: HostFacts) -> HostMemory | None:
    if host.memory is None:
        return None
    free = _with_own(host, host.memory.available, ())
    return HostMemory(total=host.memory.total, free=free, device="cpu")


def _total(gpu: Gpu) -> int:
    """Return what CUDA counts: nvidia-smi's total less what driver and firmware keep of it.

    ``memory.reserved`` (nvidia-smi --help-query-gpu). Used and free together would be the same,
    but both are rounded and change.
    """
    return (gpu.memory_total or 0) - (gpu.memory_reserved or 0)


def _with_own(host: HostFacts, free: int | None, gpus: Sequence[Gpu]) -> int | None:
    """Add what the deployment itself holds: that is stopped before it starts anew.

    None when the deployment runs and nobody says how much it holds.
    """
    own = [process.used for gpu in gpus for process in gpu.processes if process.is_own]
    sizes = [size for size in own if size is not None]
    is_known = len(sizes) == len(own) and (bool(own) or not host.is_serving)
    return free + sum(sizes) if free is not None and is_known else None
