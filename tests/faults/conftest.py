"""The stage that all faults share, a part of the matrix for each lab, and how each fault ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.matrix import part
from tests.faults.stage import Stage


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", help="only this part of all faults, such as 0/3")
    parser.addoption("--endings", type=Path, help="write into this file how each fault ended")


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
def endings(pytestconfig: pytest.Config) -> Iterator[dict[str, float | None]]:
    """Return where each fault puts its seconds, None where it did not end as it has to."""
    found: dict[str, float | None] = {}
    yield found
    file: Path | None = pytestconfig.getoption("--endings")
    if file:
        file.write_text(json.dumps(found))
