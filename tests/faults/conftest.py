"""The stage that all faults share, a part of the matrix for each lab, and how each fault ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.matrix import part
from tests.faults.record import Record
from tests.faults.stage import Stage


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", help="only this part of all faults, such as 0/3")
    parser.addoption("--endings", type=Path, help="write into this file how each fault ended")
    words = "do nothing in the place of each fault: each has to fail for want of evidence"
    parser.addoption("--nothing", action="store_true", help=words)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    words: str | None = config.getoption("--part")
    if words:
        number, _, count = words.partition("/")
        slugs = {fault.slug for fault in part(int(number), int(count))}
        items[:] = [item for item in items if item.name.partition("[")[2].strip("]") in slugs]


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("faults") / "project")
    yield made
    made.clear()


@pytest.fixture(scope="session")
def record(pytestconfig: pytest.Config) -> Record:
    return Record(pytestconfig.getoption("--endings"))


@pytest.fixture(scope="session")
def nothing(pytestconfig: pytest.Config) -> bool:
    """Return whether the matrix itself is tested: nothing is done, and no fault may pass."""
    return bool(pytestconfig.getoption("--nothing"))
