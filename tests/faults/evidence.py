"""What shows that a fault has really happened: each kind looks before it and afterwards.

A kind is data, with two methods: ``see`` returns what is to be seen now, and ``shows`` tells
whether two such looks, before and afterwards, are what the fault does and nothing else does.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from tests.faults.base import Kind
from tests.faults.evidence_containers import Container, Ended, OutOfMemory, State
from tests.faults.evidence_hosts import (
    Clock,
    Connection,
    Disk,
    File,
    Image,
    Packets,
    Process,
    Traffic,
    Version,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.scene import Scene

POLL_SECONDS = 0.5


class NoEvidence(AssertionError):
    """Nothing shows that the fault has happened: its ending proves nothing."""


class Interrupted(Kind):
    """A signal reached the command."""

    kind: Literal["interrupted"]
    by: Literal["SIGINT", "SIGKILL"]

    def see(self, scene: Scene) -> tuple[int, str] | None:
        return (scene.ended.code, scene.ended.text) if scene.ended else None

    def shows(self, before: tuple[int, str] | None, now: tuple[int, str] | None) -> bool:
        if before is not None or now is None:
            return False
        code, text = now
        return code == -9 if self.by == "SIGKILL" else "^C received" in text

    def __str__(self) -> str:
        return "exit by SIGKILL" if self.by == "SIGKILL" else "`^C received`"


class Beside(Kind):
    """Another command that ran beside the first one, and was refused."""

    kind: Literal["beside"]
    says: str

    def see(self, scene: Scene) -> tuple[str, ...]:
        return tuple(done.text for done in scene.beside if done.code not in (0, 7))

    def shows(self, before: Sequence[str], now: Sequence[str]) -> bool:
        return any(self.says in text for text in now[len(before) :])

    def __str__(self) -> str:
        return f"the other one is refused: {self.says}"


Evidence = Annotated[
    Container
    | Ended
    | OutOfMemory
    | Process
    | Packets
    | Connection
    | Disk
    | Image
    | Version
    | File
    | Clock
    | Traffic
    | Interrupted
    | Beside
    | State,
    Field(discriminator="kind"),
]


class Proof:
    """The look before a fault, and the comparison with what is to be seen after it."""

    def __init__(self, scene: Scene, evidence: Sequence[Kind]) -> None:
        self._scene = scene
        self._before = [(one, one.see(scene)) for one in evidence]

    def check(self, patience: float | None = None) -> None:
        """Wait until everything shows, at most ``patience`` seconds where that is given.

        Raises NoEvidence with what does not.
        """
        began = time.monotonic()
        for one, before in self._before:
            limit = one.within if patience is None else patience
            while not one.shows(before, now := one.see(self._scene)):
                if time.monotonic() - began > limit:
                    raise NoEvidence(f"{one}: before {before!r}, now {now!r}")
                time.sleep(POLL_SECONDS)
