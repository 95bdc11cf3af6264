"""`make faults`: the whole matrix, on several labs at once, and the table of how each fault ended.

A fault is mostly waiting, so the labs hardly disturb each other. With ``--nothing`` the matrix
itself is tested: nothing breaks, every fault has to fail for want of evidence, and the table stays.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.faults.matrix import part
from tests.faults.record import Ending, read_record
from tests.faults.stage import LAB_SECONDS
from tests.faults.table import write_table
from tests.project import ROOT

LABS = (1, 2, 3)
"""Their numbers: the usual lab stays as it is."""
TABLE = ROOT / "docs" / "faults.md"


def main(words: list[str]) -> int:
    """Run all parts; return 0 when every fault ended as it has to."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{lab}.json") for lab in LABS]
        runs = [_start(index, file, words) for index, file in enumerate(files)]
        # Read at the same time: a pipe that is full stops the part that writes into it.
        with ThreadPoolExecutor(len(LABS)) as pool:
            codes = list(pool.map(_finish, runs))
        parts = [read_record(file) for file in files]
    problems = [
        f"part {index} of lab {LABS[index]}: {problem}"
        for index, (code, endings) in enumerate(zip(codes, parts, strict=True))
        if (problem := judge(index, code, endings))
    ]
    print("\n".join(problems) or "every fault ended as it has to", flush=True)
    if "--nothing" not in words:
        write_table(TABLE, {slug: one for endings in parts for slug, one in endings.items()})
    stay = [lab for lab in LABS if not _take_down(lab)]
    return 1 if problems or stay else 0


def judge(index: int, code: int, endings: dict[str, Ending]) -> str:
    """Return what is wrong with one part of a run: its exit status, and what it left out."""
    missing = [fault.slug for fault in part(index, len(LABS)) if fault.slug not in endings]
    failed = [slug for slug, ending in endings.items() if ending.seconds is None]
    found = [f"killed by signal {-code}"] if code < 0 else []
    found += [f"exit status {code}"] if code > 0 else []
    found += [f"not run: {', '.join(missing)}"] if missing else []
    found += [f"not as they have to be: {', '.join(failed)}"] if failed else []
    return "; ".join(found)


def _start(index: int, file: Path, words: list[str]) -> subprocess.Popen[str]:
    words = ["--part", f"{index}/{len(LABS)}", "--endings", str(file), *words]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "tests/faults", "--tb=short", *words],
        cwd=ROOT,
        env={**os.environ, "TANDEM_LAB_NUMBER": str(LABS[index])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _finish(run: subprocess.Popen[str]) -> int:
    print(run.communicate()[0], flush=True)
    return run.returncode


def _take_down(lab: int) -> bool:
    """Take a lab down, and tell whether it is; one that starts or stops meanwhile is waited for."""
    environment = {**os.environ, "TANDEM_LAB_NUMBER": str(lab)}
    deadline = time.monotonic() + LAB_SECONDS
    while time.monotonic() < deadline:
        words = [sys.executable, "-m", "lab", "down"]
        if subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode == 0:
            return True
        time.sleep(5)
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
