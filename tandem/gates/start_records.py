"""Keeps what starts logged, so that the next plan need not assume it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tandem.gates.spec import Record


def write_record(record: Record, started: dict[str, int | float]) -> bool:
    """Put one start into the file, in the place of an older one like it; return if it was written.

    A start that logged no KV budget tells nothing: on CPUs the size is set, not measured.
    """
    if "kvBudgetBytes" not in started:
        return False
    path = Path(record.path)
    others = [known for known in _read(path) if known["start"] != record.start]
    known = {
        "start": record.start,
        "weightsBytes": started.get("weightsBytes"),
        "nonKvBytes": record.requested_bytes - int(started["kvBudgetBytes"]),
        "when": datetime.now(UTC).date().isoformat(),
    }
    # A reader sees the old file or the new one, never a part.
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(json.dumps([*others, known], indent=2, sort_keys=True) + "\n")
    unfinished.replace(path)
    return True


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        known: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return known
