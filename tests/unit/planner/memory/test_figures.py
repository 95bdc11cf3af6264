"""The memory model's figures for real models in many deployments stand in tests/cases/configs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.records.figures import FIGURES, RECORDS


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_model_s_figures_are_the_recorded_ones(path: Path) -> None:
    assert RECORDS[path]() == path.read_text(encoding="utf-8"), "python -m tests.records writes it"


def test_no_figures_are_left_of_a_model_that_is_gone() -> None:
    assert set(FIGURES.glob("*")) == set(RECORDS)
