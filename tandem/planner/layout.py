"""Which rank lands on which host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.specs import Rank

if TYPE_CHECKING:
    from tandem.settings import Settings


def layout(settings: Settings) -> tuple[Rank, ...]:
    """Return the ranks in the order in which vLLM numbers them.

    The head's GPUs come first, then the hosts with fewer GPUs, then by address as text
    (``sort_by_driver_then_worker_ip``, vllm/v1/executor/ray_executor.py, 0.11 to 0.19).
    """
    others = sorted(settings.hosts[1:], key=lambda host: (host.gpu_count, str(host.address)))
    slots = [host.name for host in (settings.head, *others) for _ in range(host.gpu_count)]
    return tuple(
        Rank(rank=rank, host=host, stage=rank // settings.serve.tensor_parallel)
        for rank, host in enumerate(slots[: settings.world_size])
    )
