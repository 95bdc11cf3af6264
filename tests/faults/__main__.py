"""`make faults`: the whole matrix, on several labs at once, and the table of how each fault ended.

A fault is mostly waiting, so the labs hardly disturb each other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.faults.table import write_table
from tests.project import ROOT

LABS = (1, 2, 3)
"""Their numbers: the usual lab stays as it is."""
TABLE = ROOT / "docs" / "faults.md"


def main() -> int:
    """Run all parts; return 0 when every fault ended as it has to."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{lab}.json") for lab in LABS]
        runs = [_start(index, file) for index, file in enumerate(files)]
        codes = [_finish(run, lab) for run, lab in zip(runs, LABS, strict=True)]
        endings: dict[str, float | None] = {}
        for file in files:
            if file.exists():
                endings |= json.loads(file.read_text())
    write_table(TABLE, endings)
    return max(codes)


def _start(index: int, file: Path) -> subprocess.Popen[str]:
    words = ("--part", f"{index}/{len(LABS)}", "--endings", str(file))
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "tests/faults", "--tb=short", *words],
        cwd=ROOT,
        env={**os.environ, "TANDEM_LAB_NUMBER": str(LABS[index])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _finish(run: subprocess.Popen[str], lab: int) -> int:
    print(run.communicate()[0], flush=True)
    environment = {**os.environ, "TANDEM_LAB_NUMBER": str(lab)}
    subprocess.run([sys.executable, "-m", "lab", "down"], cwd=ROOT, env=environment, check=True)
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
