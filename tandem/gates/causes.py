"""Begins what a gate says when it gives up with the first cause, from the logs of all ranks."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import resources
from typing import TYPE_CHECKING

from tandem.errors import GateFailed
from tandem.gates.containers import inspect
from tandem.gates.first_cause import ContainerLog, first_cause
from tandem.gates.log_lines import seconds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tandem.gates.containers import ContainerState
    from tandem.gates.first_cause import FirstCause
    from tandem.gates.spec import Watched

READ_SECONDS = 40
"""How long reading one log may take: its parts end by themselves after 10 and 20 seconds."""

SLACK_SECONDS = 5.0
"""How long before the first container's start lines count, as clocks may differ a little."""

_ENDED, _STAYS_DOWN = " tandem: the command ended: ", " tandem: stays down after "
"""What tandem/remote/supervise.py says at the end of every start, and where it gives up."""


def naming_first_cause(watched: Sequence[Watched], work: Callable[[], object]) -> object:
    """Return what a gate's work gives; when it gives up, begin with the first cause, if logs tell.

    Docker starts again what failed, and keeps the lines of all starts in one log. What counts is
    the start that was the last one when the work began, and what came after it; of all containers
    no more than since the first one started.
    """
    before = _look(watched)
    try:
        return work()
    except GateFailed as failed:
        cause = _read_cause(before)
        if cause is None:
            raise
        raise GateFailed(f"{cause}\n{failed}") from None


@dataclass(frozen=True)
class _Reading:
    """A log, and how the clock of its host stands against the operator's."""

    log: ContainerLog
    least: float
    """Seconds that the host's clock is ahead at least."""
    most: float
    """And at most."""

    def beside(self, first: _Reading) -> ContainerLog:
        """Return the log as it is to be read beside the first one.

        Both clocks were compared with the operator's, whose own error does not count. Ahead is what
        is so for certain.
        """
        least, most = self.least - first.most, self.most - first.least
        ahead = max(least, 0.0) + min(most, 0.0)
        started = first.log.since + ahead - SLACK_SECONDS
        return replace(self.log, ahead=ahead, since=max(self.log.since, started))


def _look(watched: Sequence[Watched]) -> list[ContainerState]:
    with ThreadPoolExecutor(max_workers=len(watched)) as pool:
        return list(pool.map(inspect, watched))


def _read_cause(before: Sequence[ContainerState]) -> FirstCause | None:
    # Docker gives the year 1 to what never was.
    if (seconds_of(before[0].started_at) or 0.0) <= 0.0:
        return None
    with ThreadPoolExecutor(max_workers=len(before)) as pool:
        readings = list(pool.map(_read, before))
    return first_cause([one.beside(readings[0]) for one in readings])


def _read(before: ContainerState) -> _Reading:
    """Return the log of a container since its start, as far as its host tells."""
    watched = before.watched
    script = resources.files(__package__ or "").joinpath("causes.sh").read_text()
    sent = time.time()
    words = ("sh", "-s", "--", watched.container)
    answer = watched.target.run(*words, stdin=script, timeout=READ_SECONDS)
    received = time.time()
    clocks: list[float] = []
    address, lines = "", []
    for line in answer.stdout.split("\n"):
        kind, _, value = line.partition("\t")
        if kind == "clock":
            clocks.append(_number(value, sent))
        elif kind == "address":
            address = value
        else:
            lines.append(line)
    log = ContainerLog(watched.host, "\n".join(lines), address, since=_since(before, lines))
    if len(clocks) != 2:
        return _Reading(log, 0.0, 0.0)
    return _Reading(log, clocks[1] - received, clocks[0] - sent)


def _since(state: ContainerState, lines: Sequence[str]) -> float:
    """Return from when on a log is of the container's last start; 0 where all of it may be.

    Where the last one did nothing but say that the container stays down, it is the one before.
    """
    started, finished = seconds_of(state.started_at), seconds_of(state.finished_at)
    if started is None or finished is None:
        return 0.0
    if finished < 0.0:
        return started - SLACK_SECONDS
    # Docker notes the start when the program may have written already (moby, daemon/start.go).
    since = finished if finished <= started else started
    ends = [_time(line) for line in lines if _ENDED in line]
    if any(_STAYS_DOWN in line and _time(line) >= since for line in lines):
        return ends[-2] if len(ends) > 1 else 0.0
    return since


def _time(line: str) -> float:
    return seconds_of(line.partition(" ")[0]) or 0.0


def _number(text: str, default: float) -> float:
    try:
        return float(text)
    except ValueError:
        return default
