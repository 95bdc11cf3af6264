"""Two ways to the same thing, measured in one run: medians, their ratio, and the goal of it."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.project import Run

RUNS = 3
LAB_NUMBER = "9"
"""Of a lab of many hosts, beside the usual one."""


@dataclass(frozen=True)
class Comparison:
    """What Tandem takes for something, beside what else was measured in the same run."""

    what: str
    seconds: Sequence[float]
    beside: str
    """What the other figures are of."""
    beside_seconds: Sequence[float]
    goal: float | None
    """The highest ratio that is wanted, where the ratio counts."""

    @property
    def ratio(self) -> float:
        """Return Tandem's median by the other one."""
        return statistics.median(self.seconds) / statistics.median(self.beside_seconds)

    def row(self) -> str:
        """Return a row of a table in Markdown, with the medians and all figures they are of."""
        ours, theirs = _figures(self.seconds), _figures(self.beside_seconds)
        compared = f"{self.what} | {ours} | {self.beside}: {theirs}"
        if self.goal is None:
            return f"| {compared} | - | - |"
        met = "" if self.ratio <= self.goal else ", missed"
        return f"| {compared} | {self.ratio:.2f} | {self.goal:g}{met} |"


def table(comparisons: Sequence[Comparison]) -> str:
    """Return the comparisons as a table in Markdown."""
    head = "| what | Tandem, s | beside, s | ratio | goal |\n| :-- | :-- | :-- | --: | --: |"
    return "\n".join([head, *(comparison.row() for comparison in comparisons)])


def timed(work: Callable[[], object]) -> float:
    """Return how many seconds something takes."""
    began = time.monotonic()
    work()
    return time.monotonic() - began


def succeed(run: Run) -> None:
    """Raise RuntimeError with what a command said when it failed."""
    if run.code != 0:
        raise RuntimeError(run.text)


def _figures(seconds: Sequence[float]) -> str:
    every = ", ".join(f"{value:.1f}" for value in seconds)
    return f"{statistics.median(seconds):.1f} ({every})"
