"""Logs of several containers as one text, merged by time."""

from __future__ import annotations

import heapq
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tandem.survey.logs import ContainerLog, KeptRecord, LogLine

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Colours and movements of a terminal (ECMA-48, 5.4)."""

_ROLE_WIDTH = len("worker")


class Prefixes:
    """What stands before a line: host, role, and the time on that host."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._width = max(map(len, hosts))

    def of(self, log: ContainerLog, line: LogLine) -> str:
        """Return the prefix of a line, as wide as that of all others."""
        time = line.time[:23].replace("T", " ")
        return f"{log.host:<{self._width}}  {log.role:<{_ROLE_WIDTH}}  {time:<23}"


def merged(logs: Sequence[ContainerLog], prefixes: Prefixes, *, plain: bool) -> Iterator[str]:
    """Yield the lines of all containers by time; each container's keep their order.

    ``plain`` takes colours away.
    """
    streams = ([(line.time, number, line) for line in log.lines] for number, log in enumerate(logs))
    for _, number, line in heapq.merge(*streams, key=lambda entry: entry[0]):
        text = _CONTROL.sub("", line.text) if plain else line.text
        yield f"{prefixes.of(logs[number], line)}  {text}".rstrip()


def header(log: ContainerLog, record: KeptRecord) -> str:
    """Return what was noted of a container when its log was kept."""
    said = [
        f"kept at {_time(record.kept)}",
        (record.reason or "for an unknown reason").replace("gave-up:", "gave up: "),
        *_ending(record),
        f"{record.restarts} restarts" if record.restarts is not None else "",
        record.error or "",
    ]
    return f"{log.host} {log.role or log.container}: {', '.join(filter(None, said))}"


def _ending(record: KeptRecord) -> Iterator[str]:
    """Yield how it ended; what still runs has an exit status of 0 and an end in the year 1."""
    if record.status == "running":
        yield f"running since {_time(record.started_at)}"
        return
    yield record.status or ""
    if record.exit_code is not None:
        yield f"exit status {record.exit_code}"
    if record.oom_killed:
        yield "out of memory"
    yield f"ran from {_time(record.started_at)} to {_time(record.finished_at)}"


def _time(time: str | None) -> str:
    """Return a time of Docker's to the second; its zero is the year 1."""
    if not time or time.startswith("0001-"):
        return "never" if time else "an unknown time"
    return time[:19].replace("T", " ")
