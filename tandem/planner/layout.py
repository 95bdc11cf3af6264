"""Which rank lands on which host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.backends import backend_of
from tandem.planner.specs import Rank

if TYPE_CHECKING:
    from tandem.settings import Settings


def layout(settings: Settings) -> tuple[Rank, ...]:
    """Return the ranks in the order in which vLLM numbers them."""
    slots = backend_of(settings).slots()[: settings.world_size]
    return tuple(
        Rank(rank=rank, host=host, stage=rank // settings.serve.tensor_parallel)
        for rank, host in enumerate(slots)
    )
