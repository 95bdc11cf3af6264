"""How long ``python -m tandem plan FILE --offline`` takes, Python's start included."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 10
GOAL_SECONDS = 0.3
STACK = Path(__file__).parent / "Pulumi.typical.yaml"


def answer_time() -> str:
    """Return the median in words, of the clock and of the processor.

    The first run writes bytecode as any Python does; it is not counted.
    """
    words = (sys.executable, "-m", "tandem", "plan", str(STACK), "--offline")
    clock, processor = [], []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(RUNS + 1):
            used, began = _processor_seconds(), time.perf_counter()
            subprocess.run(words, env=environment, capture_output=True, check=True)
            clock.append(time.perf_counter() - began)
            processor.append(_processor_seconds() - used)
    seconds, busy = statistics.median(clock[1:]), statistics.median(processor[1:])
    return (
        f"plan --offline answers in {seconds:.2f} s (median of {RUNS}, Python's start included; "
        f"{busy:.2f} s of the processor; goal {GOAL_SECONDS} s)"
    )


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
