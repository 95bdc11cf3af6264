"""vLLM's own processes on every host: what runs of them, and whether /health tells of a lost one.

Without Ray nobody tells the server that a rank is gone, so this has to be looked at from outside.
"""

from __future__ import annotations

import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Self

from lab import processes

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from lab import Host
    from lab.processes import Process
    from tests.faults.scene import Scene

POLL_SECONDS = 0.5
HEALTH_SECONDS = 60
"""How long /health may say yes at most while a rank is gone."""
ANSWER_SECONDS = 3
_SUPERVISE, _GENERATION = "supervise.py", "generation.py"
_RANK = "VLLM::Worker"


@dataclass(frozen=True)
class Running:
    """What runs in a host's container of vLLM, beside Tandem's own programs; by process id."""

    trees: frozenset[int] = frozenset()
    """What Tandem has started."""
    below: frozenset[int] = frozenset()
    """What those have started."""
    strays: frozenset[int] = frozenset()
    """What belongs to none of them."""
    ranks: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        """Return all of them."""
        return self.trees | self.below | self.strays

    def leftovers(self, old: frozenset[int]) -> list[str]:
        """Return in words what is more than one start of vLLM, or from before a fault."""
        words = [f"process {pid} of an earlier generation" for pid in sorted(self.all & old)]
        words += [f"process {pid} of no generation" for pid in sorted(self.strays)]
        counts = {"tree": len(self.trees), "rank": len(self.ranks)}
        return words + [f"{count} {name}s of vLLM" for name, count in counts.items() if count != 1]


def running(host: Host) -> Running:
    """Return what runs of vLLM on a host; nothing on one that is off."""
    init, found = host.init(), processes.all_processes()
    if init is None:
        return Running()
    here = processes.descendants(init, found)
    inits = [one for one in here if one.name == "docker-init" and _SUPERVISE in str(one)]
    inside = [one for first in inits for one in processes.descendants(first, found)]
    programs = {one.pid for one in inside if _is_program(one)}
    vllm = [one for one in inside if one.pid not in programs and _SUPERVISE not in str(one)]
    trees = [one for one in vllm if one.parent in programs]
    below = [one for tree in trees for one in processes.descendants(tree, found)]
    known = {one.pid for one in (*trees, *below)}
    return Running(
        _pids(trees),
        _pids(below),
        _pids(one for one in vllm if one.pid not in known),
        _pids(one for one in vllm if one.command and one.command[0].startswith(_RANK)),
    )


@dataclass
class Watch:
    """Looks at /health and at all ranks twice a second for as long as the block lasts."""

    scene: Scene
    longest: float = 0.0
    """Seconds for which /health said yes while a rank was gone, at most."""
    _before: dict[str, Running] = field(default_factory=dict)
    _ended: Event = field(default_factory=Event)

    def __enter__(self) -> Self:
        """Begin."""
        self._before = self._now()
        self._thread = Thread(target=self._look_on, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End, and check what was seen."""
        self._ended.set()
        self._thread.join()
        if error is None:
            assert self.longest <= HEALTH_SECONDS, f"/health said yes for {self.longest:.0f} s"

    def _look_on(self) -> None:
        since: float | None = None
        while not self._ended.wait(POLL_SECONDS):
            now = time.monotonic()
            if self._is_whole(self._now()) or not says_yes(self.scene):
                since = None
                continue
            since = since or now
            self.longest = max(self.longest, time.monotonic() - since)

    def _now(self) -> dict[str, Running]:
        return {host.name: running(host) for host in self.scene.lab.hosts}

    def _is_whole(self, now: dict[str, Running]) -> bool:
        """Tell whether every rank is there, all of one generation, and can be reached."""
        if self.scene.cut or any(not one.ranks or is_stopped(one.ranks) for one in now.values()):
            return False
        old = [one.ranks <= self._before[name].ranks for name, one in now.items()]
        return all(old) or not any(old)


def says_yes(scene: Scene) -> bool:
    """Tell whether /health says that all is well."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    address = scene.endpoint.removesuffix("/v1")
    try:
        with opener.open(f"{address}/health", timeout=ANSWER_SECONDS) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


def is_stopped(pids: frozenset[int]) -> bool:
    """Tell whether one of the processes is stopped, or has ended meanwhile."""
    try:
        states = [Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] for pid in pids]
    except OSError:
        return True
    return any(state in "TtZX" for state in states)


def _is_program(process: Process) -> bool:
    return _GENERATION in str(process) and _SUPERVISE not in str(process)


def _pids(found: Iterable[Process]) -> frozenset[int]:
    return frozenset(one.pid for one in found)
