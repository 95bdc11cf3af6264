"""The stage that all faults share, and the table that a whole run writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.matrix import read_matrix
from tests.faults.stage import Stage
from tests.faults.table import Row, write_table


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--table", type=Path, help="write the table of a whole run into this file")


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("faults") / "project")
    yield made
    made.clear()


@pytest.fixture(scope="session")
def rows(pytestconfig: pytest.Config) -> Iterator[list[Row]]:
    """Return where each fault puts its row; a run of all of them writes them down."""
    found: list[Row] = []
    yield found
    file: Path | None = pytestconfig.getoption("--table")
    if file and len(found) == len(read_matrix()):
        write_table(file, found)
