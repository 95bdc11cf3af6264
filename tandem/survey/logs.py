"""What a stack's containers wrote: as it is on the hosts, or as it was kept when they went."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from tandem.ssh import UNREACHABLE, last_line
from tandem.survey.base import NOT_RUN, FactsModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tandem.settings import HostSettings

TIMEOUT_SECONDS = 30
"""How long one host may take to answer."""

_TIMED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) ?(.*)")


class LogLine(FactsModel):
    """One line of one container."""

    time: str
    """The host's, in UTC, as `docker logs --timestamps` writes it; empty when nobody knows."""
    text: str


class KeptRecord(BaseModel):
    """What was noted beside a log that was kept; what a record does not say is None."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, defer_build=True
    )

    role: str = ""
    reason: str | None = None
    """``replaced``, ``removed``, or ``gave-up:`` and the gate that gave up."""
    kept: str | None = None
    """When, in UTC."""
    status: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    exit_code: int | None = None
    oom_killed: bool | None = None
    restarts: int | None = None
    error: str | None = None


class ContainerLog(FactsModel):
    """What one container wrote."""

    host: str
    container: str
    role: str
    lines: tuple[LogLine, ...] = ()
    record: KeptRecord | None = None
    """None for a container that is there."""


class HostLogs(FactsModel):
    """The logs of one host."""

    name: str
    problem: str | None = None
    """Why there are none, or None."""
    now: str = ""
    """The host's clock when it was asked, in UTC."""
    logs: tuple[ContainerLog, ...] = ()


def read_logs(
    hosts: Sequence[HostSettings],
    stack: str,
    what: Literal["now", "kept"],
    lines: int | None,
    since: str = "",
) -> tuple[HostLogs, ...]:
    """Return the logs of every host, as ``read_host_logs`` does."""
    with ThreadPoolExecutor(max_workers=len(hosts)) as pool:
        return tuple(pool.map(lambda host: read_host_logs(host, stack, what, lines, since), hosts))


def read_host_logs(
    host: HostSettings, stack: str, what: Literal["now", "kept"], lines: int | None, since: str = ""
) -> HostLogs:
    """Return the logs of one host, over one SSH command.

    The last ``lines`` of each container, or all; ``since`` as ``docker logs --since`` takes it,
    or empty.
    """
    script = resources.files("tandem.survey").joinpath("logs.sh").read_text()
    words = ("sh", "-s", "--", what, stack, "all" if lines is None else str(lines), since)
    answer = host.target.run(*words, stdin=script, timeout=TIMEOUT_SECONDS)
    if answer.returncode == 0:
        logs = host_logs(host.name, answer.stdout)
        return logs if logs.now else HostLogs(name=host.name, problem=NOT_RUN)
    silence = "no answer" if answer.returncode == UNREACHABLE else "Docker does not answer"
    return HostLogs(name=host.name, problem=last_line(answer.stderr) or silence)


def host_logs(name: str, printed: str) -> HostLogs:
    """Read what ``logs.sh`` printed."""
    now = ""
    records: dict[str, KeptRecord] = {}
    roles: dict[str, str] = {}
    lines: dict[str, list[LogLine]] = {}
    # Only at line feeds: a log may hold other characters that end a line for Python.
    for row in printed.split("\n"):
        kind, _, rest = row.partition("\t")
        if kind == "now":
            now = rest
            continue
        container, _, rest = rest.partition("\t")
        role, _, text = rest.partition("\t")
        if kind == "kept":
            records[container] = _record(text)
            roles[container] = records[container].role
            lines[container] = []
        elif kind == "log":
            roles.setdefault(container, role)
            its = lines.setdefault(container, [])
            its.append(_line(text, its[-1].time if its else ""))
    logs = tuple(
        ContainerLog(
            host=name,
            container=container,
            role=roles[container],
            lines=tuple(its),
            record=records.get(container),
        )
        for container, its in lines.items()
    )
    return HostLogs(name=name, now=now, logs=logs)


def _record(text: str) -> KeptRecord:
    """Return a record; of one that can't be read, nothing is known."""
    try:
        return KeptRecord.model_validate(json.loads(text))
    except (ValidationError, json.JSONDecodeError):
        return KeptRecord()


def _line(text: str, before: str) -> LogLine:
    """Return a line; one without a time is Docker's own word and stays where it was said."""
    timed = _TIMED.fullmatch(text)
    return LogLine(time=timed[1], text=timed[2]) if timed else LogLine(time=before, text=text)
