"""The first cause: of all errors in the logs of a deployment, the one that the others came from.

The earliest error by time is taken, whoever tells it; but an error that only tells of another one
(``EngineDeadError``, a lost connection) never wins against one that can be a cause. Hosts' clocks
differ, so each log says by how much its host's is ahead.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tandem.gates.error_kinds import Kind
from tandem.gates.log_errors import errors_in
from tandem.gates.log_lines import QUARTER, read_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tandem.gates.log_errors import LoggedError
    from tandem.gates.log_lines import Line

LONGEST = 240
"""Characters of an exception's line that are told, and of all else that a log says."""

_SERVED = "Application startup complete."
"""What the API server logs once the engine runs: what was told before did not end it."""
_SLACK_SECONDS = 5.0
"""By how much hosts may differ in what came first, where their clocks agree."""
_NOTICED_SECONDS = 60.0
"""How long it takes at most until an end is noticed that has cut connections."""
_RANKS = (
    re.compile(r"rank (\d+) in world size \d+ is assigned as "),
    re.compile(r"world_size=\d+ rank=(\d+) local_rank="),
)


@dataclass(frozen=True)
class ContainerLog:
    """What one container wrote, as `docker logs --timestamps` prints it."""

    host: str
    text: str
    address: str = ""
    """The host's in the cluster, by which other processes name it; empty where nobody knows."""
    ahead: float = 0.0
    """Seconds by which the host's clock is ahead of the others'."""
    since: float = 0.0
    """Lines before are of an earlier start; seconds since 1970 by the host's clock."""


@dataclass(frozen=True)
class FirstCause:
    """An error and where it happened; what nobody tells is empty."""

    error: str
    """The exception's line, cut where it is too long."""
    frame: str
    """Its last frame: ``file.py:123 (function)``."""
    rank: str
    host: str
    time: str
    """The host's, in UTC, as Docker writes it."""

    def __str__(self) -> str:
        frame = f" in {self.frame}" if self.frame else ""
        rank = f"rank {self.rank} " if self.rank else ""
        return f"first cause: {self.error}{frame}, {rank}on {self.host}, at {self.time[11:19]}"


@dataclass(frozen=True)
class _Found:
    """An error with the log that tells it."""

    log: ContainerLog
    error: LoggedError
    time: float
    """When it happened, by a clock that all hosts share."""

    @property
    def is_of_nccl(self) -> bool:
        """Tell whether something failed in NCCL."""
        return self.error.kind is not Kind.WARNING and "nccl" in self.error.error.lower()

    @property
    def is_of_a_request(self) -> bool:
        """Tell whether it is the API server's, which answers a bad request and goes on."""
        return self.error.line.process.startswith("APIServer")

    @property
    def is_of_the_engine(self) -> bool:
        """Tell whether it is of the process that the ranks work for."""
        return self.error.line.process.startswith("EngineCore") and not self.error.address

    @property
    def is_of_a_rank(self) -> bool:
        """Tell whether it is of a process that has a part of the model."""
        return bool(self.error.rank) or "Worker" in self.error.line.process


def first_cause(logs: Sequence[ContainerLog]) -> FirstCause | None:
    """Return the first cause that the logs of all ranks tell; None where they tell none."""
    hosts = {log.address: log.host for log in logs if log.address}
    ahead = {log.address: log.ahead for log in logs if log.address}
    ranks: dict[tuple[str, str], str] = {}
    found: list[_Found] = []
    served = 0.0
    for log in logs:
        lines = _lines(log)
        for line in lines:
            if line.pid and (rank := _told_rank(line)):
                ranks.setdefault((_host(log, line.address, hosts), line.pid), rank)
            if line.text.endswith(_SERVED):
                served = max(served, line.time - log.ahead - _SLACK_SECONDS)
        found += [_Found(log, error, _time(error.line, log, ahead)) for error in errors_in(lines)]
    found = sorted((one for one in found if one.time >= served), key=lambda one: one.time)
    ended = [one for one in found if not (served and one.is_of_a_request)]
    first = _first(ended) or _first(found)
    if first is None:
        return None
    error = first.error
    host = _host(first.log, error.address, hosts)
    rank = error.rank if error.rank.isdigit() else ranks.get((host, error.pid), error.rank)
    return FirstCause(
        error=_plain(error.error),
        frame=_plain(error.frame),
        rank=_plain(rank),
        host=host,
        time=error.line.stamp,
    )


def _first(found: Sequence[_Found]) -> _Found | None:
    """Return the earliest error of those that are nearest to a cause; they come in their order."""
    nccl = [one.time for one in found if one.is_of_nccl]
    for one in found:
        if one.error.kind is Kind.CAUSE:
            return _of_a_rank(one, found) or one
        if one.error.kind is Kind.WARNING:
            after = bisect_left(nccl, one.time - _SLACK_SECONDS)
            if after < len(nccl) and nccl[after] - one.time < _NOTICED_SECONDS:
                return one
    ends = [one for one in found if one.error.kind is Kind.END]
    lost = [one for one in found if one.error.kind is Kind.LOST]
    if ends and (not lost or ends[0].time - lost[0].time < _NOTICED_SECONDS):
        return ends[0]
    return lost[0] if lost else None


def _of_a_rank(engine: _Found, found: Sequence[_Found]) -> _Found | None:
    """Return a rank's cause that is told right after the engine's, where there is one.

    What a rank failed to give makes the engine fail, and its words come first: it is nearer.
    """
    late = engine.time + _SLACK_SECONDS
    ranks = (one for one in found if one.is_of_a_rank and engine.time <= one.time <= late)
    causes = (one for one in ranks if one.error.kind is Kind.CAUSE)
    return next(causes, None) if engine.is_of_the_engine else None


def _time(line: Line, log: ContainerLog, ahead: dict[str, float]) -> float:
    """Return when a line was written; where Ray passed it on, when its process noted it."""
    time = line.time - log.ahead
    if line.noted is None:
        return time
    noted = line.noted - ahead.get(line.address, log.ahead)
    return time - max((time - noted + _NOTICED_SECONDS) % QUARTER - _NOTICED_SECONDS, 0.0)


def _lines(log: ContainerLog) -> list[Line]:
    # Only at line feeds: a log may hold other characters that end a line for Python.
    lines = (read_line(text) for text in log.text.split("\n"))
    return [line for line in lines if line and line.time >= log.since]


def _told_rank(line: Line) -> str:
    matches = (pattern.search(line.text) for pattern in _RANKS)
    return next((match[1] for match in matches if match), "")


def _host(log: ContainerLog, address: str, hosts: dict[str, str]) -> str:
    return hosts.get(address, _plain(address)) or log.host


def _plain(text: str) -> str:
    """Return a text that may be printed: one line without control characters, and not too long."""
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    if len(plain) <= LONGEST:
        return plain
    words = plain[:LONGEST].rpartition(" ")[0]
    return f"{words if len(words) > LONGEST / 2 else plain[:LONGEST]} …"
