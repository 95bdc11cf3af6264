"""The table of a whole run: every fault, its ending and how long that took."""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.faults.matrix import Fault

_GIB = 1024**3


@dataclass(frozen=True)
class Row:
    """How one fault ended; seconds is None when it did not end as expected."""

    fault: Fault
    seconds: float | None


def write_table(file: Path, rows: Sequence[Row]) -> None:
    """Write the table with the date and the size of the machine."""
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    failed = sum(row.seconds is None for row in rows)
    lines = [
        "# What happens when something breaks",
        "",
        f"Written by `make faults` on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, on a machine "
        f"with {os.cpu_count()} cores and {gib:.0f} GiB of memory, on which all hosts ran.",
        f"{len(rows)} faults, {failed} of them did not end as they have to. "
        "Each is a file in `tests/faults/matrix`.",
        "",
        "The endings: *repaired by itself*: the server answers again and nobody did anything.",
        "*Drift, then up*: `tandem drift` exits 7 and names it, `pulumi up --refresh` mends it,",
        "and `drift` is quiet. *Refused*: the command fails in clear words, nothing is lost, and",
        "it succeeds once the cause is gone. *Succeeds*: the command succeeds in spite of it.",
        "",
        "| fault | image | ending | seconds |",
        "|---|---|---|---:|",
        *(_line(row) for row in rows),
        "",
    ]
    file.write_text("\n".join(lines))


def _line(row: Row) -> str:
    fault = row.fault
    ending = fault.expect.ending.replace("-", " ").replace("drift then", "drift, then")
    seconds = "**not so**" if row.seconds is None else f"{row.seconds:.0f}"
    return f"| {fault.name} | {fault.image} | {ending} | {seconds} |"
