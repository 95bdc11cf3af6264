"""A pytest plugin for `make mutants`: which tests run and in which order, and how each one ends.

Both files are named by variables of the environment: a test's name on each line of the first, and a
line of JSON for each test that has run in the second. Under coverage, each line of the sources that
runs is noted with the test that ran it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CHOSEN = "TANDEM_MUTANTS_CHOSEN"
ENDED = "TANDEM_MUTANTS_ENDED"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the chosen tests in their order; all tests where none are chosen."""
    chosen = os.environ.get(CHOSEN)
    if chosen is None:
        return
    places = {name: place for place, name in enumerate(Path(chosen).read_text().splitlines())}
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in places])
    items[:] = sorted(
        (item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid]
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let coverage know whose lines the next ones are."""
    measuring = coverage.Coverage.current()
    if measuring is not None:
        measuring.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        if measuring is not None:
            measuring.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long a part of a test took, and whether it failed."""
    entry = {"test": report.nodeid, "seconds": report.duration, "failed": report.failed}
    with Path(os.environ[ENDED]).open("a", encoding="utf-8") as file:
        print(json.dumps(entry), file=file)
