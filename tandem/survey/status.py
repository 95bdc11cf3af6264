"""The deployment as it runs now: its containers, their memory, and how busy the server is."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from importlib import resources
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tandem.remote import source
from tandem.ssh import UNREACHABLE, last_line
from tandem.survey.base import NOT_RUN, FactsModel, sections, whole
from tandem.survey.machine import MemoryFacts, read_memory

if TYPE_CHECKING:
    from tandem.settings import HostSettings, Settings

TIMEOUT_SECONDS = 10
"""How long one host may take to answer."""

SECTIONS = ("now", "memory", "problem", "containers", "server", "ended")
"""The titles of what ``status.sh`` prints: a problem, or containers and what the server says."""


class Sample(FactsModel):
    """The server's numbers at one moment; tokens are counted since it started."""

    at: float
    """The host's monotonic clock, in seconds."""
    running: float | None = None
    waiting: float | None = None
    kv_cache: float | None = None
    """Share of the KV cache in use, 0 to 1."""
    prompt_tokens: float | None = None
    generation_tokens: float | None = None


class ServerStatus(FactsModel):
    """What the server said of itself."""

    problem: str | None = None
    """Why it is not healthy, or None."""
    samples: tuple[Sample, ...] = ()
    """One or two, the newest last; none where it has no /metrics."""


class ContainerStatus(FactsModel):
    """A container of the stack at one moment."""

    name: str
    role: str
    state: str
    """Docker's word: ``running``, ``exited`` and so on."""
    health: str | None = None
    """Docker's word where the container has a health check."""
    exit_code: int = 0
    oom_killed: bool = False
    error: str = ""
    """Why Docker could not start it."""
    seconds: int | None = None
    """Since it started or, when it does not run, since it ended, by the host's clock."""
    restarts: int
    image: str
    """The image's id."""
    memory: int | None = None
    """Bytes of the host's memory; what a GPU holds is not among them."""
    last_line: str = ""
    """The end of its log, when it does not run."""


class HostStatus(FactsModel):
    """What one host showed."""

    name: str
    problem: str | None = None
    """Why nothing was seen of its containers, or None."""
    skipped: bool = False
    """Nobody looked: the host is retired."""
    memory: MemoryFacts | None = None
    containers: tuple[ContainerStatus, ...] = ()
    server: ServerStatus | None = None
    """None on a host that has no server."""


def look_at_status(
    settings: Settings, stack: str, server: str, url: str, apart: float
) -> tuple[HostStatus, ...]:
    """Return what runs now on every host, one SSH command each.

    ``server`` is the container on the first host that serves at ``url``. Its numbers are read
    twice, so many seconds apart, or once when that is 0.
    """
    words = (server, "python3", "-c", source("read_metrics.py"), url, f"{apart:g}")

    def look(host: HostSettings) -> HostStatus:
        return _look(host, stack, words if host == settings.first_host else ())

    with ThreadPoolExecutor(max_workers=len(settings.hosts)) as pool:
        return tuple(pool.map(look, settings.hosts))


def read_status(name: str, printed: str) -> HostStatus:
    """Read the sections that ``status.sh`` printed."""
    said = sections(printed, SECTIONS)
    if said is None:
        return HostStatus(name=name, problem=NOT_RUN)
    now = whole(said["now"])
    return HostStatus(
        name=name,
        problem=said["problem"] or None,
        memory=read_memory(said["memory"]),
        containers=tuple(_container(row, now) for row in said["containers"].splitlines()),
        server=_server(said["server"]) if said["server"] else None,
    )


def _look(host: HostSettings, stack: str, server: tuple[str, ...]) -> HostStatus:
    if host.retired:
        return HostStatus(name=host.name, skipped=True)
    script = resources.files("tandem.survey").joinpath("status.sh").read_text()
    words = ("sh", "-s", "--", stack, *server)
    answer = host.target.run(*words, stdin=script, timeout=TIMEOUT_SECONDS)
    if answer.returncode == UNREACHABLE:
        return HostStatus(name=host.name, problem=last_line(answer.stderr) or "no answer")
    return read_status(host.name, answer.stdout)


def _container(row: str, now: int | None) -> ContainerStatus:
    _, memory, line, facts = row.split("\t", 3)
    data = json.loads(facts)
    started, finished = data.pop("started"), data.pop("finished")
    return ContainerStatus(
        **{**data, "name": data["name"].removeprefix("/")},
        seconds=_since(started if data["state"] == "running" else finished, now),
        memory=_memory(memory),
        last_line=line,
    )


def _since(time: str, now: int | None) -> int | None:
    """Return the seconds since a time as Docker writes it; its zero is the year 1."""
    if now is None or time.startswith("0001-"):
        return None
    return max(0, now - int(datetime.fromisoformat(time).timestamp()))


def _memory(words: str) -> int | None:
    sizes = [whole(word) for word in words.split()]
    if len(sizes) != 2 or sizes[0] is None or sizes[1] is None:
        return None
    return max(0, sizes[0] - sizes[1])


def _server(printed: str) -> ServerStatus:
    # A warning of Docker's may stand before it.
    said = last_line(printed)
    try:
        return ServerStatus.model_validate_json(said)
    except ValidationError:
        return ServerStatus(problem=said)
