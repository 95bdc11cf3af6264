"""`make bench`: measures all, prints it, and writes it into docs/performance.md.

``python -m tests.bench PART …`` measures these parts alone and only prints them.
"""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import deployment, hosts, idle, survey, weights
from tests.bench.measure import table
from tests.project import ROOT
from tests.shell import heed_interrupts

DOCUMENT = ROOT / "docs" / "performance.md"
START, END = "<!-- measured -->\n", "<!-- /measured -->\n"
PARTS = {
    "deployment": lambda: table(deployment.measure()),
    "overhead": lambda: table(deployment.measure(stand_in=True)),
    "idle": lambda: table(idle.measure()),
    "hosts": lambda: hosts.table(hosts.measure()),
    "survey": survey.measure,
    "weights": weights.measure,
}


def main(chosen: list[str]) -> None:
    """Measure what is chosen, or all."""
    heed_interrupts()
    said = []
    for part in chosen or PARTS:
        said.append(f"## {part.capitalize()}\n\n{PARTS[part]()}\n")
        print(said[-1], flush=True)
    if not chosen:
        write("\n".join([_where(), *said]))


def write(measured: str) -> None:
    """Put what was measured into the document, in the place of what was there."""
    before, _, rest = DOCUMENT.read_text().partition(START)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(f"{before}{START}{measured}{END}{after}")


def _where() -> str:
    memory = Path("/proc/meminfo").read_text().split()[1]
    gib = int(memory) / 1024**2
    day = datetime.now(UTC).date().isoformat()
    return f"{day}, {os.cpu_count()} cores, {gib:.0f} GiB, {platform.system()}.\n"


if __name__ == "__main__":
    main(sys.argv[1:])
