"""What shows on hosts, and on the way to them, that a fault has happened."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tests.faults import sight
from tests.faults.base import OfHost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.faults.scene import Scene


class Process(OfHost):
    """Processes of a host: those of before have ended."""

    kind: Literal["process"]
    named: str
    """A regular expression that its command line holds."""
    called: str
    """What the table calls it."""
    now: Literal["gone", "another", "ended"]
    """None is there, another one is, or either."""

    def see(self, scene: Scene) -> frozenset[int]:
        return sight.pids(scene.lab.host(self.host), re.compile(self.named))

    def shows(self, before: frozenset[int], now: frozenset[int]) -> bool:
        if not before or before & now:
            return False
        return self.now == "ended" or bool(now) == (self.now == "another")

    def __str__(self) -> str:
        words = {"gone": "is gone", "another": "has another process id", "ended": "has ended"}
        return f"{self.called} of {self.host} {words[self.now]}"


class Packets(OfHost):
    """The firewall's own counters: packets that were dropped."""

    kind: Literal["packets"]

    def see(self, scene: Scene) -> int:
        return scene.lab.dropped_packets(scene.lab.host(self.host))

    def shows(self, before: int, now: int) -> bool:
        return now > before

    def __str__(self) -> str:
        return f"packets dropped on {self.host} (iptables' counters)"


class Connection(OfHost):
    """Connections from the operator's machine that are not taken any more."""

    kind: Literal["connection"]
    to: Literal["sshd", "registry"] = "sshd"
    at_once: int = 1
    now: Literal["refused", "silent", "closed"]

    def see(self, scene: Scene) -> tuple[str, ...]:
        return sight.connections(scene.lab, self.to, self.host, self.at_once)

    def shows(self, before: Sequence[str], now: Sequence[str]) -> bool:
        return set(before) == {"answered"} and self.now in now

    def __str__(self) -> str:
        which = f"connection {self.at_once} of {self.at_once} at once" if self.at_once > 1 else ""
        place = "the registry" if self.to == "registry" else f"sshd of {self.host}"
        return f"{which or 'connection'} to {place} is {self.now}"


class Disk(OfHost):
    """What `df` says of a disk."""

    kind: Literal["disk"]
    path: str = "/var/lib/docker"
    free_mib: int
    """At most that much is free afterwards, and more before."""

    def see(self, scene: Scene) -> int:
        return sight.number(scene.lab.host(self.host), f"df --output=avail -B 1M {self.path}")

    def shows(self, before: int, now: int) -> bool:
        return now <= self.free_mib < before

    def __str__(self) -> str:
        return f"`df` of {self.host}: at most {self.free_mib} MiB free"


class Image(OfHost):
    """Docker has no name of the deployment's image any more."""

    kind: Literal["image"]

    def see(self, scene: Scene) -> tuple[str, ...]:
        return sight.images(scene.lab, scene.lab.host(self.host))

    def shows(self, before: Sequence[str], now: Sequence[str]) -> bool:
        return bool(before) and not now

    def __str__(self) -> str:
        return f"{self.host} has no name of the image"


class Version(OfHost):
    """The deployment's image has another vLLM on a host, by its own Python."""

    kind: Literal["version"]
    now: str

    def see(self, scene: Scene) -> str:
        return sight.vllm_version(scene.lab, scene.lab.host(self.host))

    def shows(self, before: str, now: str) -> bool:
        return before != now == self.now

    def __str__(self) -> str:
        return f"the image has vLLM {self.now} on {self.host}"


class File(OfHost):
    """A file of a host has gone."""

    kind: Literal["file"]
    path: str

    def see(self, scene: Scene) -> bool:
        return scene.lab.host(self.host).ssh(f"test -e {self.path}").returncode == 0

    def shows(self, before: bool, now: bool) -> bool:
        return before and not now

    def __str__(self) -> str:
        return f"{Path(self.path).name} is not on {self.host}"


class Clock(OfHost):
    """The clock of a host against the operator's."""

    kind: Literal["clock"]
    seconds: int
    """At least that much farther away than before."""

    def see(self, scene: Scene) -> float:
        return sight.number(scene.lab.host(self.host), "date +%s") - time.time()

    def shows(self, before: float, now: float) -> bool:
        return abs(now - before) >= self.seconds

    def __str__(self) -> str:
        return f"`date` of {self.host} is at least {self.seconds} s off"


class Traffic(OfHost):
    """Bytes over a host's cable while the command ran, by the interface's counters."""

    kind: Literal["traffic"]
    mib: int
    """At least that much came in."""
    mbit: float
    """Mbit/s, at most."""

    def see(self, scene: Scene) -> tuple[int, float]:
        return sight.received(scene.lab.host(self.host)), time.monotonic()

    def shows(self, before: tuple[int, float], now: tuple[int, float]) -> bool:
        size, seconds = (b - a for a, b in zip(before, now, strict=True))
        return size >= self.mib << 20 and size * 8 <= self.mbit * 1e6 * seconds

    def __str__(self) -> str:
        return f"{self.mib} MiB came to {self.host} at {self.mbit:g} Mbit/s at most"
