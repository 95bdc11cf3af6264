"""Files that gates keep beside the stack file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def read_list(path: Path) -> list[dict[str, Any]]:
    """Return what a file of JSON lists; nothing when there is none."""
    try:
        known: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return known


def write_json(path: Path, data: object) -> None:
    """Write a file of JSON. A reader sees the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    text = json.dumps(data, indent=2, sort_keys=True) + "\n"
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
