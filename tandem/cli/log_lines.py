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
        f"kept {_time(record.kept)}",
        (record.reason or "nobody knows why").replace("gave-up:", "gave up: "),
        f"it was {record.status}" if record.status else "",
        f"exit status {record.exit_code}" if record.exit_code is not None else "",
        "out of memory" if record.oom_killed else "",
        f"{record.restarts} restarts" if record.restarts is not None else "",
        f"started {_time(record.started_at)}",
        f"ended {_time(record.finished_at)}" if record.finished_at else "",
        record.error or "",
    ]
    return f"{log.host} {log.role or log.container}: {', '.join(filter(None, said))}"


def _time(time: str | None) -> str:
    """Return a time of Docker's to the second; its zero is the year 1."""
    if not time or time.startswith("0001-"):
        return "never" if time else "at an unknown time"
    return time[:19].replace("T", " ")
