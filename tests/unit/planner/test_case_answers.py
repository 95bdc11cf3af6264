"""What the planner makes of each case stands in tests/cases/answers, to the byte."""

from __future__ import annotations

import pytest

from tests.case_answers import ANSWERS, answer
from tests.case_files import FOLDER

FILES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


@pytest.mark.parametrize("file", FILES)
def test_the_answer_to_a_case_is_the_recorded_one(file: str) -> None:
    recorded = (ANSWERS / f"{file}.yaml").read_text(encoding="utf-8")
    assert answer(file) == recorded, "python -m tests.case_answers writes it"


def test_no_answer_is_left_of_a_case_that_is_gone() -> None:
    assert sorted(path.stem for path in ANSWERS.glob("*")) == FILES
