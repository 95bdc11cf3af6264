"""Text in columns, of a width that a terminal has, and what is shortened to fit there."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH = 100
_GAP = "  "
_LEAST = 10
"""To which width other columns are cut before the first one is."""


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows in columns; where they are too wide, the widest column is cut.

    The first one, which says what a row is of, is cut only where no other can be.
    """
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    while sum(widths) + len(_GAP) * (len(widths) - 1) > WIDTH:
        rest = widths[1:]
        cut = 1 + rest.index(max(rest)) if rest and max(rest) > _LEAST else 0
        widths[cut] -= 1
    return [
        _GAP.join(
            _cut(cell, width).ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def paragraphs(lines: Iterable[str]) -> list[str]:
    """Return lines folded to the width, each one's rest indented."""
    folding = textwrap.TextWrapper(
        WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return [folded for line in lines for folded in folding.wrap(line)]


def short_digest(digest: str) -> str:
    """Return as much of a digest as Docker shows."""
    return digest.removeprefix("sha256:")[:12]


def _cut(cell: str, width: int) -> str:
    return cell if len(cell) <= width else f"{cell[: width - 1]}…"
