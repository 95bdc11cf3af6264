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

_EVER = 0.0
"""Seconds since 1970; Docker gives the year 1 to what never was."""


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

    def ahead_of(self, other: _Reading) -> float:
        """Return by how many seconds this clock is ahead for certain; negative when it is behind.

        Both were compared with the operator's, whose own error does not count.
        """
        least, most = self.least - other.most, self.most - other.least
        return max(least, 0.0) + min(most, 0.0)


def _look(watched: Sequence[Watched]) -> list[ContainerState]:
    with ThreadPoolExecutor(max_workers=len(watched)) as pool:
        return list(pool.map(inspect, watched))


def _read_cause(before: Sequence[ContainerState]) -> FirstCause | None:
    started = seconds_of(before[0].started_at)
    if started is None or started < _EVER:
        return None
    with ThreadPoolExecutor(max_workers=len(before)) as pool:
        readings = list(pool.map(_read, before))
    logs = [replace(one.log, ahead=one.ahead_of(readings[0])) for one in readings]
    return first_cause(logs, started - SLACK_SECONDS)


def _since(state: ContainerState) -> str:
    """Return from when on a log is of the container's last start, or empty for all of it."""
    started, finished = seconds_of(state.started_at), seconds_of(state.finished_at)
    if started is None or finished is None or finished < _EVER:
        return ""
    # Docker notes the start when the program may have written already (moby, daemon/start.go).
    return state.finished_at if finished <= started else state.started_at


def _read(before: ContainerState) -> _Reading:
    """Return the log of a container since its start, as far as its host tells."""
    watched = before.watched
    script = resources.files(__package__ or "").joinpath("causes.sh").read_text()
    sent = time.time()
    words = ("sh", "-s", "--", watched.container, _since(before))
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
    log = ContainerLog(watched.host, "\n".join(lines), address)
    if len(clocks) != 2:
        return _Reading(log, 0.0, 0.0)
    return _Reading(log, clocks[1] - received, clocks[0] - sent)


def _number(text: str, default: float) -> float:
    try:
        return float(text)
    except ValueError:
        return default
