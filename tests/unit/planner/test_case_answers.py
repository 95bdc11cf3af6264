"""What the planner makes of each case, and of each config.json, stands in tests/cases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.records.cases import ANSWERS, READ, RECORDS


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_answer_is_the_recorded_one(path: Path) -> None:
    assert RECORDS[path]() == path.read_text(encoding="utf-8"), "python -m tests.records writes it"


def test_no_answer_is_left_of_what_is_gone() -> None:
    assert {*ANSWERS.glob("*"), *READ.glob("*")} == set(RECORDS)
