"""The deployment as it is beside what it should be: one row for every container and silent host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.planner.arguments import server_url
from tandem.planner.backends import backend_of
from tandem.planner.containers import Containers
from tandem.planner.specs import SpecModel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.planner.specs import ContainerSpec
    from tandem.settings import Settings
    from tandem.survey.status import ContainerStatus, HostStatus, Sample, ServerStatus

NO_ANSWER = "no answer"
RETIRED = "retired"
MISSING = "missing"
GAVE_UP = "gave up"
"""The state of a container that ended with 0: it does so only when it is not to be restarted."""


class Row(SpecModel):
    """A container, or a host that shows none. Sizes in bytes, times in seconds."""

    host: str
    role: str | None = None
    container: str | None = None
    ranks: tuple[int, ...] = ()
    state: str
    """``no answer``, ``retired``, ``missing``, ``gave up``, or Docker's word."""
    health: str | None = None
    reason: str | None = None
    """What is wrong, or None."""
    seconds: int | None = None
    """Since it started or, when it does not run, since it ended."""
    restarts: int | None = None
    image: str | None = None
    memory: int | None = None
    """What the container uses of the host's memory, without its GPUs'."""
    host_available: int | None = None
    host_total: int | None = None


class Load(SpecModel):
    """How busy the server is; None is what it does not tell."""

    running: int | None = None
    waiting: int | None = None
    kv_cache: float | None = None
    """Share in use, 0 to 1."""
    prompt_rate: float | None = None
    """Tokens per second."""
    generation_rate: float | None = None


class Status(SpecModel):
    """A whole deployment at one moment."""

    stack: str
    rows: tuple[Row, ...]
    url: str
    server_problem: str | None
    """Why the server does not answer, or None."""
    load: Load

    @property
    def is_seen(self) -> bool:
        """Tell whether every host answered."""
        return all(row.state != NO_ANSWER for row in self.rows)

    @property
    def is_well(self) -> bool:
        """Tell whether all containers run and the server answers."""
        return self.server_problem is None and all(row.reason is None for row in self.rows)


def server_container(settings: Settings, stack: str) -> str:
    """Return the name of the container that serves."""
    return _containers(settings, stack)[-1].name


def judge(
    settings: Settings, stack: str, hosts: Sequence[HostStatus], before: Sample | None = None
) -> Status:
    """Set what was seen of the hosts beside what the stack file declares.

    ``before`` is the server's last sample of an earlier look, for tokens per second.
    """
    expected = _containers(settings, stack)
    rows = tuple(row for host in hosts for row in _rows(host, expected))
    server = hosts[0].server
    samples = (*((before,) if before else ()), *(server.samples if server else ()))
    return Status(
        stack=stack,
        rows=rows,
        url=server_url(settings),
        server_problem=_server_problem(rows, expected[-1].name, server),
        load=_load(samples) if server and server.samples else Load(),
    )


def _containers(settings: Settings, stack: str) -> tuple[ContainerSpec, ...]:
    """Return what should run, as far as nobody has to look at the hosts: the server comes last."""
    return backend_of(settings).containers(Containers(settings, stack, {}))


def _rows(host: HostStatus, expected: Sequence[ContainerSpec]) -> Iterator[Row]:
    of_host: dict[str, Any] = {
        "host": host.name,
        "host_available": host.memory.available if host.memory else None,
        "host_total": host.memory.total if host.memory else None,
    }
    its = tuple(rank for spec in expected if spec.host == host.name for rank in spec.ranks)
    if host.skipped:
        yield Row(**of_host, ranks=its, state=RETIRED)
        return
    if host.problem is not None:
        yield Row(**of_host, ranks=its, state=NO_ANSWER, reason=f"no answer: {host.problem}")
        return
    seen = {container.name: container for container in host.containers}
    for spec in expected:
        if spec.host != host.name:
            continue
        there = seen.pop(spec.name, None)
        about = {**of_host, "role": spec.role, "container": spec.name, "ranks": spec.ranks}
        if there is None:
            yield Row(**about, state=MISSING, reason=f"{spec.name} is not there")
        else:
            yield Row(**about, **_of_container(there), reason=_reason(there))
    for other in seen.values():
        about = {**of_host, "role": other.role, "container": other.name, **_of_container(other)}
        yield Row(**about, reason=f"{other.name} is not of this stack file")


def _of_container(there: ContainerStatus) -> dict[str, Any]:
    return {
        "state": GAVE_UP if _gave_up(there) else there.state,
        "health": there.health if there.state == "running" else None,
        "seconds": there.seconds,
        "restarts": there.restarts,
        "image": there.image,
        "memory": there.memory,
    }


def _gave_up(there: ContainerStatus) -> bool:
    return there.state == "exited" and there.exit_code == 0


def _reason(there: ContainerStatus) -> str | None:
    if there.state == "running":
        return "its health check fails" if there.health == "unhealthy" else None
    if there.error:
        return f"{there.state}: {there.error}"
    if _gave_up(there):
        return f"gave up: {there.last_line or 'its log is empty'}"
    if there.state not in {"exited", "restarting"}:
        return there.state
    memory = ", out of memory" if there.oom_killed else ""
    said = f"; last line of its log: {there.last_line}" if there.last_line else ""
    return f"{there.state}, exit status {there.exit_code}{memory}{said}"


def _server_problem(rows: Sequence[Row], name: str, server: ServerStatus | None) -> str | None:
    container = next((row for row in rows if row.container == name), None)
    if container is None:
        return "its host does not answer"
    if container.state != "running":
        return f"its container does not run ({container.state})"
    return server.problem if server else "it was not asked"


def _load(samples: Sequence[Sample]) -> Load:
    now, first = samples[-1], samples[-2] if len(samples) > 1 else None
    return Load(
        running=_whole(now.running),
        waiting=_whole(now.waiting),
        kv_cache=now.kv_cache,
        prompt_rate=_rate(first, now, "prompt_tokens"),
        generation_rate=_rate(first, now, "generation_tokens"),
    )


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)


def _rate(before: Sample | None, now: Sample, what: str) -> float | None:
    """Return tokens per second; None when the server has started anew in between."""
    if before is None or now.at <= before.at:
        return None
    first, last = getattr(before, what), getattr(now, what)
    if first is None or last is None or last < first:
        return None
    return float(last - first) / (now.at - before.at)
