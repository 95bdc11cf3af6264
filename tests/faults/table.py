"""The table of a whole run: every fault, its ending and how long that took."""

from __future__ import annotations

import datetime
import os
from typing import TYPE_CHECKING

from tests.faults.matrix import read_matrix

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.faults.matrix import Fault

_GIB = 1024**3


def write_table(file: Path, endings: Mapping[str, float | None]) -> None:
    """Write how every fault of the matrix ended, with the date and the size of the machine.

    ``endings`` has seconds by slug, None where a fault did not end as it has to; what is not there
    was not run.
    """
    faults = sorted(read_matrix(), key=lambda fault: fault.slug)
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    failed = sum(seconds is None for seconds in endings.values())
    lines = [
        "# What happens when something breaks",
        "",
        f"Written by `make faults` on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, on a machine "
        f"with {os.cpu_count()} cores and {gib:.0f} GiB of memory, on which all hosts ran.",
        f"{len(endings)} of {len(faults)} faults were run, {failed} of them did not end as they "
        "have to. Each is a file in `tests/faults/matrix`.",
        "",
        "The endings: *repaired by itself*: the server answers again and nobody did anything.",
        "*Drift, then up*: `tandem drift` exits 7 and names it, `pulumi up --refresh` mends it,",
        "and `drift` is quiet. *Refused*: the command fails in clear words, nothing is lost, and",
        "it succeeds once the cause is gone. *Succeeds*: the command succeeds in spite of it.",
        "",
        "| fault | image | ending | seconds |",
        "|---|---|---|---:|",
        *(_line(fault, endings) for fault in faults),
        "",
    ]
    file.write_text("\n".join(lines))


def _line(fault: Fault, endings: Mapping[str, float | None]) -> str:
    ending = fault.expect.ending.replace("-", " ").replace("drift then", "drift, then")
    if fault.slug not in endings:
        seconds = "not run"
    elif (taken := endings[fault.slug]) is None:
        seconds = "**not so**"
    else:
        seconds = f"{taken:.0f}"
    return f"| {fault.name} | {fault.image} | {ending} | {seconds} |"
