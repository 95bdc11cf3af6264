"""What is new in logs that are read again and again.

`docker logs --follow` would end with every stop of its container, and stay on the host when nobody
listens any more.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.survey.logs import ContainerLog, HostLogs

OVERLAP_SECONDS = 3
"""Docker notes a line's time before the line can be read, so a little is asked for twice."""

UNSEEN = "10s"
"""From when on to read on a host that did not answer before."""


class NewLines:
    """Remembers what was read of every container."""

    def __init__(self, seen: Sequence[HostLogs]) -> None:
        self._clocks: dict[str, str] = {}
        self._newest: dict[tuple[str, str], str] = {}
        self._note(seen)

    def since(self, host: str) -> str:
        """Return from when on to read on a host, by its own clock."""
        return self._clocks.get(host, UNSEEN)

    def of(self, seen: Sequence[HostLogs]) -> list[HostLogs]:
        """Return the logs without the lines that were there before."""
        new = [
            host.model_copy(update={"logs": tuple(self._new(host.logs))})
            if host.problem is None
            else host
            for host in seen
        ]
        self._note(seen)
        return new

    def _new(self, logs: Sequence[ContainerLog]) -> Iterator[ContainerLog]:
        for log in logs:
            newest = self._newest.get((log.host, log.container), "")
            lines = tuple(line for line in log.lines if line.time > newest)
            if lines:
                yield log.model_copy(update={"lines": lines})

    def _note(self, seen: Sequence[HostLogs]) -> None:
        for host in seen:
            if host.now:
                then = datetime.fromisoformat(host.now) - timedelta(seconds=OVERLAP_SECONDS)
                self._clocks[host.name] = then.strftime("%Y-%m-%dT%H:%M:%SZ")
            for log in host.logs:
                place = (log.host, log.container)
                times = (line.time for line in log.lines)
                self._newest[place] = max(times, default=self._newest.get(place, ""))
