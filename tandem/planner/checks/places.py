"""A host as declared and as seen, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tandem.settings import HostSettings, Settings
    from tandem.survey.facts import Facts, HostFacts
    from tandem.survey.network import Interface


@dataclass(frozen=True)
class Place:
    """One host."""

    path: str
    """Its place in the stack file, e.g. ``tandem:hosts[1]``."""
    declared: HostSettings
    seen: HostFacts
    is_first: bool

    @property
    def name(self) -> str:
        """Return its name."""
        return self.declared.name

    @property
    def address(self) -> str:
        """Return its declared address."""
        return str(self.declared.address)

    @property
    def interface(self) -> Interface | None:
        """Return the interface that holds the declared address."""
        return self.seen.interface_of(self.address)


def places(settings: Settings, facts: Facts) -> list[Place]:
    """Return every host of the stack file with what was seen of it."""
    pairs = zip(settings.hosts, facts.hosts, strict=True)
    return [
        Place(f"tandem:hosts[{index}]", declared, seen, index == 0)
        for index, (declared, seen) in enumerate(pairs)
    ]
