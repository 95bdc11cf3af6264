"""How a deployment runs, as text of at most 100 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.cli.columns import columns, paragraphs, short_digest
from tandem.units import GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.status import Load, Row, Status

_UNKNOWN = "-"
_HEAD = ("host", "role", "rank", "state", "up", "restarts", "image", "memory", "free on host")


def table(status: Status) -> str:
    """Return a row for each container, the server's load, and what is wrong."""
    wrong = sum(row.reason is not None for row in status.rows)
    answers = "answers" if status.server_problem is None else "does not answer"
    summary = f"{len(status.rows) - wrong} of {len(status.rows)} as they should be"
    lines = [f"{status.stack}: {summary}, the server {answers}", ""]
    lines += [*columns([_HEAD, *map(_row, status.rows)]), "", *paragraphs(_server(status))]
    reasons = [f"{_place(row)}: {row.reason}" for row in status.rows if row.reason is not None]
    if reasons:
        lines += ["", *paragraphs(reasons)]
    return "\n".join(lines)


def spoken(seconds: int) -> str:
    """Write a duration in its two largest units: ``3d 4h``, ``2m 5s``, ``40s``."""
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, left = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (left, "s")]
    while len(parts) > 1 and parts[0][0] == 0:
        parts.pop(0)
    return " ".join(f"{number}{unit}" for number, unit in parts[:2])


def _row(row: Row) -> tuple[str, ...]:
    runs = row.state == "running"
    return (
        row.host,
        row.role or _UNKNOWN,
        _ranks(row.ranks),
        row.health or row.state,
        spoken(row.seconds) if runs and row.seconds is not None else _UNKNOWN,
        _UNKNOWN if row.restarts is None else str(row.restarts),
        short_digest(row.image) if row.image else _UNKNOWN,
        _UNKNOWN if row.memory is None else _size(row.memory),
        _free(row),
    )


def _ranks(ranks: tuple[int, ...]) -> str:
    """Write ``0-3`` for ranks in a row; a host's ranks always are."""
    if not ranks:
        return _UNKNOWN
    return str(ranks[0]) if len(ranks) == 1 else f"{ranks[0]}-{ranks[-1]}"


def _size(size: int) -> str:
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / MIB:.0f} MiB"


def _free(row: Row) -> str:
    if row.host_available is None or row.host_total is None:
        return _UNKNOWN
    return f"{row.host_available / GIB:.1f} of {row.host_total / GIB:.1f} GiB"


def _place(row: Row) -> str:
    return f"{row.host} {row.role}" if row.role else row.host


def _server(status: Status) -> Iterator[str]:
    if status.server_problem is not None:
        yield f"server    {status.url} does not answer: {status.server_problem}"
        return
    load = status.load
    yield f"server    {status.url} answers"
    yield f"requests  {_number(load.running)} running, {_number(load.waiting)} waiting"
    yield f"KV cache  {_cache(load)} in use"
    rates = (load.prompt_rate, load.generation_rate)
    prompt, generation = (_UNKNOWN if rate is None else f"{rate:,.1f}" for rate in rates)
    yield f"tokens/s  {prompt} prompt, {generation} generation"


def _number(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


def _cache(load: Load) -> str:
    return _UNKNOWN if load.kv_cache is None else f"{load.kv_cache:.1%}"
