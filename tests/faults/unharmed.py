"""What a fault may not touch, and what may not stay of it."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.faults.commands import left_behind, pulumis_own

if TYPE_CHECKING:
    from tests.faults.matrix import Refused
    from tests.faults.scene import Scene, Snapshot
    from tests.project import Run

END_SECONDS = 5
"""How long after an interrupted command something of it may still run."""
BACK_SECONDS = 30
"""How long containers may take until they run again where their host did not."""
LONGEST = 400
"""Characters of what is told of one change."""
_CRASHES = re.compile(
    r"^panic: |^goroutine \d+ \[|^fatal error: "
    r'|File "[^"]*(/tandem/|/components/|/pulumi|/__main__\.py)',
    re.MULTILINE,
)
"""Go's own words, and frames of the project's and of Pulumi's Python.

A container's log that is shown may hold a traceback, of vLLM for one.
"""


def see_words(done: Run) -> None:
    """Check that a command has said something, and has not crashed."""
    assert done.text.strip(), f"it ended with {done.code} and has said nothing"
    assert not _CRASHES.search(done.text), f"it crashed:\n{done.text}"


def see_nothing_runs_on(scene: Scene) -> None:
    """Check that no gate and no ssh of an interrupted command runs on, and end Pulumi's own.

    What is left of that is noted.
    """
    folder = scene.project.folder
    scene.until(lambda: not left_behind(folder), END_SECONDS, "all has ended here")
    scene.stayed = pulumis_own(folder)
    for process in scene.stayed:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    scene.until(lambda: not scene.left_on_hosts(), END_SECONDS, "all has ended on the hosts")


def see_unchanged(scene: Scene, before: Snapshot, expect: Refused) -> None:
    """Check that all is as before but what the fault's file allows."""
    deadline = time.monotonic() + BACK_SECONDS
    while changed := _changed(scene.snapshot(), before, expect):
        assert time.monotonic() < deadline, changed
        time.sleep(1)


def _changed(now: Snapshot, before: Snapshot, expect: Refused) -> list[str]:
    found = []
    for what in before.keys() - set(expect.may_change):
        for name in before[what].keys() | now[what].keys():
            was, is_now = before[what].get(name, "nothing"), now[what].get(name, "nothing")
            if was != is_now:
                found.append(f"{what}: {name}: before {was}, now {is_now}"[:LONGEST])
    return found
