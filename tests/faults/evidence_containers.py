"""What shows on containers that a fault has happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tests.faults import sight
from tests.faults.base import Kind
from tests.faults.places import CONTAINERS, STACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.scene import Scene

_SERVER = f"$docker:index/container:Container::{STACK}-lab-1-server"


class Container(Kind):
    """Docker's own words of a container."""

    kind: Literal["container"]
    container: str
    """head, worker, server, rank, or the name of one of somebody else."""
    host: str | None = None
    """Where that one is."""
    now: Literal["started again", "exited", "gone", "there"]
    status: int | None = None
    """Exit status of one that has exited."""

    def see(self, scene: Scene) -> sight.Container | None:
        return sight.container(scene, self.container, self.host)

    def shows(self, before: sight.Container | None, now: sight.Container | None) -> bool:
        if before is None or now is None:
            return (before is not now) and (now is None) == (self.now == "gone")
        if self.now == "there":
            return before.id != now.id and now.status == "running"
        if self.now == "started again":
            return before.id == now.id and before.started != now.started
        exited = before.status == "running" and now.status == "exited"
        return self.now == "exited" and exited and now.exit_code == self.status

    def __str__(self) -> str:
        if self.now == "exited":
            return f"container {self.container} exited with {self.status}"
        words = {"started again": "has another start", "gone": "is gone", "there": "is there"}
        return f"container {self.container} {words[self.now]}"


class Ended(Kind):
    """What a container's log says of how its command ended; it may run again by now."""

    kind: Literal["ended"]
    container: CONTAINERS
    how: str
    """The first words, such as ``signal 9``."""
    times: int = 1

    def see(self, scene: Scene) -> int:
        return sight.ends(scene, self.container, self.how)

    def shows(self, before: int, now: int) -> bool:
        return now - before >= self.times

    def __str__(self) -> str:
        often = f", {self.times} times" if self.times > 1 else ""
        return f"log of {self.container}: the command ended, {self.how}{often}"


class OutOfMemory(Kind):
    """Docker's events: the kernel has ended something in a container for want of memory."""

    kind: Literal["out-of-memory"]
    container: CONTAINERS

    def see(self, scene: Scene) -> frozenset[str]:
        return sight.out_of_memory(scene, self.container)

    def shows(self, before: frozenset[str], now: frozenset[str]) -> bool:
        return bool(now - before)

    def __str__(self) -> str:
        return f"Docker's event `oom` of {self.container}"


class State(Kind):
    """The state names a server's container that is not the one on its host."""

    kind: Literal["state"]

    def see(self, scene: Scene) -> tuple[str | None, str | None]:
        found = sight.container(scene, "server")
        recorded = [one["id"] for urn, one in scene.state().items() if urn.endswith(_SERVER)]
        return (recorded[0] if recorded else None, found.id if found else None)

    def shows(self, before: Sequence[str | None], now: Sequence[str | None]) -> bool:
        return before[0] == before[1] and now[0] != now[1] and None not in now

    def __str__(self) -> str:
        return "the state names a container that is gone"
