"""What Pulumi is told of a deployment is what the record says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.records.stacks import RECORDS


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_what_is_declared_is_recorded(path: Path) -> None:
    assert RECORDS[path]() == path.read_text(encoding="utf-8"), "python -m tests.records writes it"
