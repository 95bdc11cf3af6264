"""What the tools answer beside what the logs say: one table, and the medians of its errors."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.bench.plan.starts import Answer, Start

DASH = "-"


@dataclass(frozen=True)
class Figure:
    """One kind of figure, and how far off an answer is."""

    field: str
    title: str
    form: str
    is_relative: bool
    """Whether errors are per cent; else GiB."""
    constant: str | None
    """Word in the name of every constant that it depends on; None when on none."""

    def is_marked(self, start: Start) -> bool:
        """Tell whether the start set a constant that the figure depends on."""
        if self.constant is None or start.sets is None:
            return False
        return self.constant in start.sets

    def error(self, answer: Answer, log: Answer) -> float | None:
        """Return the error with its sign, or None when one of them says nothing."""
        said, truth = getattr(answer, self.field), getattr(log, self.field)
        if said is None or truth is None:
            return None
        off = float(said - truth)
        return 100 * off / truth if self.is_relative else off

    def cell(self, answer: Answer, log: Answer) -> str:
        """Return an answer with its error."""
        error = self.error(answer, log)
        if error is None:
            return DASH
        unit = " %" if self.is_relative else ""
        return f"{getattr(answer, self.field):{self.form}} ({error:+.2f}{unit})"


FIGURES = (
    Figure("weights", "weights, GiB a rank", ".2f", True, "repacked weights"),
    Figure("need", "need of a request, GiB a rank", ".2f", True, None),
    Figure("capacity", "what the logged cache holds, tokens", ",.0f", True, None),
    Figure("budget", "left for the KV cache, GiB a rank", ".2f", False, ""),
)


def table(starts: list[Start], tools: Mapping[str, list[Answer]]) -> str:
    """Return a Markdown table; the answers of each tool are in the order of the starts."""
    lines = [_row("", "the log", *tools), _row(":--", *(["--:"] * (len(tools) + 1)))]
    for figure in FIGURES:
        lines += _figure(figure, starts, tools)
    lines += _verdicts(starts, tools)
    return "\n".join(lines)


def _figure(
    figure: Figure, starts: list[Start], tools: Mapping[str, list[Answer]]
) -> Iterator[str]:
    known = [n for n, start in enumerate(starts) if getattr(start.log, figure.field) is not None]
    yield _row(f"**{figure.title}**", *([""] * (len(tools) + 1)))
    for n in known:
        start = starts[n]
        cells = [figure.cell(answers[n], start.log) for answers in tools.values()]
        truth = f"{getattr(start.log, figure.field):{figure.form}}"
        yield _row(_name(start, figure.is_marked(start)), truth, *cells)
    if figure.constant is not None:
        free = [n for n in known if not figure.is_marked(starts[n])]
        yield _row("*median error, without \\**", "", *_medians(figure, starts, tools, free))
    yield _row("*median error, all*", "", *_medians(figure, starts, tools, known))


def _medians(
    figure: Figure, starts: list[Start], tools: Mapping[str, list[Answer]], chosen: list[int]
) -> Iterator[str]:
    unit = " %" if figure.is_relative else " GiB"
    for answers in tools.values():
        errors = [figure.error(answers[n], starts[n].log) for n in chosen]
        found = [abs(error) for error in errors if error is not None]
        yield f"{statistics.median(found):.2f}{unit} of {len(found)}" if found else DASH


def _verdicts(starts: list[Start], tools: Mapping[str, list[Answer]]) -> Iterator[str]:
    known = [n for n, start in enumerate(starts) if start.log.verdict]
    yield _row("**does it start?**", *([""] * (len(tools) + 1)))
    for n in known:
        words = [answers[n].verdict or DASH for answers in tools.values()]
        truth = "started" if starts[n].log.verdict == "fits" else "refused"
        yield _row(_name(starts[n], bool(starts[n].sets)), truth, *words)
    for title, chosen in (
        ("without \\*", [n for n in known if not starts[n].sets]),
        ("all", known),
    ):
        counts = []
        for answers in tools.values():
            said = [(answers[n].verdict, starts[n].log.verdict) for n in chosen]
            right = sum(one == other for one, other in said)
            open_ = sum(one == "tight" for one, _ in said)
            wrong = sum(one is not None for one, _ in said) - right - open_
            is_asked = right + open_ + wrong
            counts.append(f"{right} right, {open_} tight, {wrong} wrong" if is_asked else DASH)
        yield _row(f"*{title}*", "", *counts)


def _name(start: Start, is_marked: bool) -> str:
    name = start.name.removesuffix("-logged")
    return f"{name} \\*" if is_marked else name


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def notes(starts: list[Start]) -> str:
    """Return what the marks of the table mean, and how wide the ranges of Tandem are."""
    lines = [f"\\* {_name(start, False)} set {start.sets}" for start in starts if start.sets]
    lines += [
        f"{_name(start, False)}: vramscout and hf-mem cannot be told {start.barrier}"
        for start in starts
        if start.barrier
    ]
    weighed = [start for start in starts if start.log.budget is not None]
    held = sum(start.low <= (start.log.budget or 0) <= start.high for start in weighed)
    width = statistics.median(start.high - start.low for start in weighed)
    lines.append(
        f"Tandem gives a range for what is left, its middle is in the table: it holds the logged "
        f"figure in {held} of {len(weighed)} starts, and is {width:.1f} GiB wide (median)"
    )
    return "\n".join(f"- {line}" for line in lines)
