"""What is read of the recorded hosts, and what `survey` prints, stands beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.records.hosts import RECORDS


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_recorded_host_is_read_as_recorded(path: Path) -> None:
    assert RECORDS[path]() == path.read_text(encoding="utf-8"), "python -m tests.records writes it"
