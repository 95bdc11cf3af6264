"""Which layers each pipeline stage gets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tandem.settings import Settings

PARTITION = "VLLM_PP_LAYER_PARTITION"
"""The variable that gives the layers of each stage, e.g. ``16,32``."""


def split_layers(count: int, stages: int) -> tuple[int, ...]:
    """Return the number of layers of each stage when nothing is said about it.

    Layers that are left over go to the last stages but one, because the last one has the output
    layer (``get_pp_indices``, vllm/distributed/utils.py, 0.11.2 to 0.32.0).
    """
    each, left = divmod(count, stages)
    return tuple(
        each + (1 if stages - 1 - left <= stage < stages - 1 else 0) for stage in range(stages)
    )


def declared_partition(settings: Settings) -> str | None:
    """Return VLLM_PP_LAYER_PARTITION as the head knows it, or None."""
    return host_partitions(settings)[settings.head.name]


def declared_partitions(settings: Settings) -> list[tuple[str, str]]:
    """Return place in the stack file and text of every VLLM_PP_LAYER_PARTITION."""
    places = {"tandem:serve.env": settings.serve.env}
    places |= {f"tandem:hosts[{index}].env": host.env for index, host in enumerate(settings.hosts)}
    return [
        (f"{place}.{PARTITION}", env[PARTITION])
        for place, env in places.items()
        if PARTITION in env
    ]


def host_partitions(settings: Settings) -> dict[str, str | None]:
    """Return VLLM_PP_LAYER_PARTITION by host, as the ranks there know it.

    The server runs on the head, and vLLM copies its variables to the other hosts, except for
    names that some host declares for itself (``environment.not_carried_over``).
    """
    everywhere = settings.serve.env.get(PARTITION)
    is_carried = not any(PARTITION in host.env for host in settings.hosts)
    found = {
        host.name: everywhere if is_carried else host.env.get(PARTITION) for host in settings.hosts
    }
    head = settings.head
    return found | {head.name: everywhere or head.env.get(PARTITION)}
