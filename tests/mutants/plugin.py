"""A pytest plugin for `make mutants`: which tests run and in which order, and how each one ends.

Both files are named by variables of the environment: a test's name on each line of the first, and
lines of JSON for each test that has run in the second. Under coverage, each line of the sources
that runs is noted with the test that ran it; a test that starts a process or reads the sources may
depend on others, too, and is marked.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import coverage
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

CHOSEN = "TANDEM_MUTANTS_CHOSEN"
ENDED = "TANDEM_MUTANTS_ENDED"

STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}
"""Audit events of what starts another process."""
SOURCES = ("/tandem/", "/components/")
_marked: list[str] = []


def _mark(event: str, arguments: tuple[object, ...]) -> None:
    """Note what coverage does not see of the test that runs."""
    is_source = event == "open" and any(part in str(arguments[0]) for part in SOURCES)
    if is_source or event in STARTS:
        _marked.append(event)


sys.addaudithook(_mark)


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
    _marked.clear()
    try:
        return (yield)
    finally:
        if measuring is not None:
            measuring.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long a part of a test took, whether it failed, and whether it is marked."""
    entry = {"test": report.nodeid, "seconds": report.duration, "failed": report.failed}
    entry["marked"] = bool(_marked)
    with Path(os.environ[ENDED]).open("a", encoding="utf-8") as file:
        print(json.dumps(entry), file=file)
