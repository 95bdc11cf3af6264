"""What everything in a file of the matrix has in common, and all kinds of evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from tests.faults.scene import Scene


class Part(BaseModel):
    """A part of a fault: nothing that is not declared may stand there."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Kind(Part):
    """What all kinds of evidence have in common."""

    within: float = 5
    """Seconds, after the fault, in which it has to show."""

    def see(self, scene: Scene) -> Any:
        """Return what is to be seen at this moment."""
        raise NotImplementedError

    def shows(self, before: Any, now: Any) -> bool:
        """Tell whether the fault lies between the two looks."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return what is to be seen, for the table."""
        raise NotImplementedError


class OfHost(Kind):
    """What is to be seen on one host."""

    host: str = "lab-2"
