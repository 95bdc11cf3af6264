"""`make mutants`: puts one change at a time into the sources and looks if a fast test notices.

``python -m tests.mutants --seed=1 --count=200 --minutes=60`` prints a line for each mutant, a table
by folder, and what no test noticed as a diff. Ends with 1 where fewer than 95 % are caught, or
where the time is over before all are tried.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tests.mutants.sample import sample
from tests.mutants.trial import Bench
from tests.project import ROOT
from tests.shell import heed_interrupts

if TYPE_CHECKING:
    from tests.mutants.source import Mutant

FOLDERS = ("tandem", "components")
LEAST_SHARE = 0.95


def main(arguments: list[str] | None = None) -> int:
    """Try a sample of mutants; return the status to end with."""
    parser = argparse.ArgumentParser("python -m tests.mutants", description="Try mutants.")
    parser.add_argument("--seed", default="1", help="what the sample follows from (1)")
    parser.add_argument("--count", type=int, default=200, help="how many mutants (200)")
    parser.add_argument("--minutes", type=float, default=60, help="when to end (60)")
    parser.add_argument("--only", default="", help="only mutants whose name begins like this")
    given = parser.parse_args(arguments)
    heed_interrupts()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what it has started goes with it
    until = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory(prefix="tandem-mutants-") as scratch:
        bench = Bench(ROOT, Path(scratch))
        chosen = sample(bench.tree, FOLDERS, given.seed, given.count, given.only)
        print("All fast tests run once without a mutant.", flush=True)
        for test in bench.measure():
            print(f"left out, since it fails without a mutant: {test}", flush=True)
        caught, survivors = _try_out(bench, chosen, until)
        print(f"\n{_table(caught, survivors)}")
        for mutant in survivors:
            text = (bench.tree / mutant.path).read_text(encoding="utf-8")
            print(f"\n{mutant.path}:{mutant.line} {mutant.operator}\n{mutant.diff(text)}")
    tried = len(caught) + len(survivors)
    if tried < len(chosen):
        print(f"The time was over: {len(chosen) - tried} of {len(chosen)} were not tried.")
        return 1
    return 0 if len(caught) >= LEAST_SHARE * tried else 1


def _try_out(bench: Bench, chosen: list[Mutant], until: float) -> tuple[list[Mutant], list[Mutant]]:
    """Try one mutant after the other until the time is over; return the caught and the others."""
    caught: list[Mutant] = []
    survivors: list[Mutant] = []
    for number, mutant in enumerate(chosen, 1):
        if time.monotonic() > until:
            break
        by = bench.try_out(mutant)
        (survivors if by is None else caught).append(mutant)
        place = f"{mutant.path}:{mutant.line} {mutant.operator}"
        print(f"{number}/{len(chosen)} {place}: {by or 'SURVIVED'}", flush=True)
    return caught, survivors


def _table(caught: list[Mutant], survivors: list[Mutant]) -> str:
    """Return how many were caught in each folder, as Markdown."""
    all_of, caught_of = (
        Counter("/".join(PurePosixPath(mutant.path).parts[:-1][:2]) for mutant in mutants)
        for mutants in (caught + survivors, caught)
    )
    rows = ["| Folder | Mutants | Caught | Share |", "|---|---|---|---|"]
    for folder, number in [*sorted(all_of.items()), ("all", all_of.total())]:
        found = caught_of.total() if folder == "all" else caught_of[folder]
        rows.append(f"| {folder} | {number} | {found} | {found / max(number, 1):.1%} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
