"""How each fault of a run has ended, kept in a file after every one: a run may be killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from tests.faults.base import Part

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.matrix import Fault


class Ending(Part):
    """How one fault has ended."""

    seconds: float | None
    """None where it did not end as it has to."""
    health_said_yes: float = 0.0
    """Seconds for which it did at most while a rank was gone, as far as that was looked at."""
    stayed: list[str] = []
    """Pulumi's own programs that were left on the operator's machine, with their process id."""


_ENDINGS = TypeAdapter(dict[str, Ending])


class Record:
    """The endings of one part of the matrix, by slug."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._endings: dict[str, Ending] = {}

    def note(self, fault: Fault, ending: Ending) -> None:
        """Keep how a fault has ended."""
        self._endings[fault.slug] = ending
        if self._file:
            self._file.write_bytes(_ENDINGS.dump_json(self._endings, indent=2))


def read_record(file: Path) -> dict[str, Ending]:
    """Return the endings that are in a file; none where there is no file, or half of one."""
    try:
        return _ENDINGS.validate_json(file.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
