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
    from tests.faults.record import Ending

_GIB = 1024**3


def write_table(file: Path, endings: Mapping[str, Ending]) -> None:
    """Write how every fault of the matrix ended, with the date and the size of the machine.

    ``endings`` is by slug; what is not there was not run.
    """
    faults = sorted(read_matrix(), key=lambda fault: fault.slug)
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    failed = sum(ending.seconds is None for ending in endings.values())
    lines = [
        "# What happens when something breaks",
        "",
        f"Written by `make faults` on {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, on a machine "
        f"with {os.cpu_count()} cores and {gib:.0f} GiB of memory, on which all hosts ran.",
        f"{len(endings)} of {len(faults)} faults were run, {failed} of them did not end as they "
        "have to. Each is a file in `tests/faults/matrix`.",
        "",
        "The endings. *Repaired by itself*: the server answers again and nobody did anything.",
        "*Drift, then up*: `tandem drift` exits 7 and names it, `pulumi up --refresh` mends it, "
        "and `drift` is quiet.",
        "*Refused*: the command fails in words that the fault's file has, nothing is changed "
        "but what that file allows,",
        "and it succeeds once the cause is gone.",
        "*Succeeds*: the command succeeds in spite of it.",
        "",
        "The evidence is what shows that the fault has really happened. "
        "It is looked for before the ending counts.",
        "`python -m tests.faults --nothing` does nothing in the place of each fault: "
        "then every one has to fail for want of it.",
        *_stayed(endings),
        *_said_yes(endings),
        "",
        "| fault | backend | image | evidence | ending | seconds |",
        "|---|---|---|---|---|---:|",
        *(_line(fault, endings) for fault in faults),
        "",
    ]
    file.write_text("\n".join(lines))


def _stayed(endings: Mapping[str, Ending]) -> list[str]:
    """Return a line about Pulumi's programs that interrupted commands have left, if any have."""
    most = max((len(ending.stayed) for ending in endings.values()), default=0)
    if not most:
        return []
    return [
        f"After a SIGKILL up to {most} programs of Pulumi's own ran on, their connections to "
        "Docker included, and nothing else:",
        "[operating.md](operating.md) says how to end them.",
    ]


def _said_yes(endings: Mapping[str, Ending]) -> list[str]:
    """Return a line about /health where nobody tells the server of a rank that is gone."""
    most = max((ending.health_said_yes for ending in endings.values()), default=0)
    if not most:
        return []
    return [f"With `backend: mp`, `/health` said yes for up to {most:.0f} s after a rank was lost."]


def _line(fault: Fault, endings: Mapping[str, Ending]) -> str:
    ending = fault.expect.ending.replace("-", " ").replace("drift then", "drift, then")
    evidence = "; ".join(str(one) for one in fault.evidence)
    if fault.slug not in endings:
        seconds = "not run"
    elif (taken := endings[fault.slug].seconds) is None:
        seconds = "**not so**"
    else:
        seconds = f"{taken:.0f}"
    return f"| {fault.name} | {fault.backend} | {fault.image} | {evidence} | {ending} | {seconds} |"
