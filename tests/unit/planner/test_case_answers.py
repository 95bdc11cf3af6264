"""What the planner makes of each case stands in tests/cases/answers, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.records.cases import ANSWERS, RECORDS


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_the_answer_to_a_case_is_the_recorded_one(path: Path) -> None:
    assert RECORDS[path]() == path.read_text(encoding="utf-8"), "python -m tests.records writes it"


def test_no_answer_is_left_of_a_case_that_is_gone() -> None:
    assert set(ANSWERS.glob("*")) == set(RECORDS)
