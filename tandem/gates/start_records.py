"""Keeps what starts logged, so that the next plan need not assume it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tandem.gates.files import read_list, write_json

if TYPE_CHECKING:
    from tandem.gates.spec import Record


def write_record(record: Record, started: dict[str, int | float]) -> bool:
    """Put one start into the file, in the place of an older one like it; return if it was written.

    A start that logged no KV budget tells nothing: on CPUs the size is set, not measured.
    """
    if "kvBudgetBytes" not in started:
        return False
    path = Path(record.path)
    others = [known for known in read_list(path) if known["start"] != record.start]
    known = {
        "start": record.start,
        "weightsBytes": started.get("weightsBytes"),
        "nonKvBytes": record.requested_bytes - int(started["kvBudgetBytes"]),
        "when": datetime.now(UTC).date().isoformat(),
    }
    write_json(path, [*others, known])
    return True
