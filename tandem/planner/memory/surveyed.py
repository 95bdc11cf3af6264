"""The memory of every host: as the stack file declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.memory.hosts import HostMemory, declared_memory

if TYPE_CHECKING:
    from tandem.settings import Settings
    from tandem.survey.facts import Facts


def host_memory(settings: Settings, facts: Facts) -> dict[str, HostMemory]:
    """Return the memory of the hosts that are known, by host name."""
    return declared_memory(settings)
