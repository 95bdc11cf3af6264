"""How a fault ends, told by what an operator can see; each returns the seconds it took."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

from tandem.survey.engine import NO_CHANGES_EXPECTED
from tests.faults.actions import carry_out
from tests.faults.matrix import DriftThenUp, Fault, Refused, RepairedByItself, Succeeds

if TYPE_CHECKING:
    from tests.faults.actions import Undo
    from tests.faults.scene import Scene
    from tests.project import Run

_TRACEBACK = re.compile(r'File ".*/(tandem/(cli|gates|planner|settings|survey)|components)/')
"""A traceback of the project's own; what a container logged may hold one of vLLM's."""
NOTICED_SECONDS = 8
"""By then a rank that is lost has ended the server: before that, it may answer without it."""


def see_ending(scene: Scene, fault: Fault) -> float:
    """Stage a fault and check that it ends as expected; return the seconds that took."""
    match fault.expect:
        case RepairedByItself():
            return _repaired_by_itself(scene, fault, fault.expect)
        case DriftThenUp():
            return _drift_then_up(scene, fault, fault.expect)
        case Refused():
            return _refused(scene, fault, fault.expect)
        case Succeeds():
            return _succeeds(scene, fault, fault.expect)


def _repaired_by_itself(scene: Scene, fault: Fault, expect: RepairedByItself) -> float:
    undo = carry_out(scene, fault.fault)
    began = time.monotonic()
    time.sleep(NOTICED_SECONDS)
    left = expect.within - NOTICED_SECONDS
    scene.until(scene.is_whole, left, "the server answers over both hosts")
    spent = time.monotonic() - began
    _undo(undo)
    done = scene.run("up", "--refresh", "--expect-no-changes")
    assert done.code == 0, done.text
    return spent


def _drift_then_up(scene: Scene, fault: Fault, expect: DriftThenUp) -> float:
    undo = carry_out(scene, fault.fault)
    began = time.monotonic()
    while True:
        done = scene.run("drift")
        if done.code == NO_CHANGES_EXPECTED and all(words in done.text for words in expect.says):
            break
        assert time.monotonic() - began < expect.within, f"{done.code}: {done.text}"
        time.sleep(1)
    if expect.heals:
        _undo(undo)
    _succeeds_now(scene, scene.run("up", "--refresh"))
    spent = time.monotonic() - began
    if not expect.heals:
        _undo(undo)
    _see_no_drift(scene)
    return spent


def _refused(scene: Scene, fault: Fault, expect: Refused) -> float:
    before = scene.containers()
    done, spent, undo = _disturbed(scene, fault, expect.within)
    try:
        assert expect.any_status or done.code not in (0, NO_CHANGES_EXPECTED), done.text
        assert not _TRACEBACK.search(done.text), done.text
        for words in expect.says:
            assert words in done.text, done.text
    finally:
        _undo(undo)
    # A host that does not answer in the fault is seen again only now.
    assert not expect.unchanged or scene.containers() == before
    assert fault.command
    if "pulumi cancel" in done.text:
        assert scene.project.pulumi("cancel", "--yes").code == 0
    again = scene.run(fault.command)
    if again.code != 0 and "pulumi cancel" in again.text:
        assert scene.project.pulumi("cancel", "--yes").code == 0
        again = scene.run(fault.command)
    assert again.code in _fine(fault), f"after:\n{again.text}\nand in the fault:\n{done.text}"
    if fault.command == "up":
        assert scene.answers(), "`up` succeeded, and the server does not answer"
    return spent


def _succeeds(scene: Scene, fault: Fault, expect: Succeeds) -> float:
    done, spent, undo = _disturbed(scene, fault, expect.within)
    try:
        for words in expect.says:
            assert words in done.text, done.text
        assert done.code in _fine(fault), done.text
        if fault.command == "up":
            assert scene.answers(), "`up` succeeded, and the server does not answer"
    finally:
        _undo(undo)
    return spent


def _disturbed(scene: Scene, fault: Fault, within: float) -> tuple[Run, float, Undo]:
    """Run the command with its fault; return how it ended, after how long, and the undoing."""
    assert fault.command
    logs = scene.ssh_logs()
    undo = carry_out(scene, fault.fault) if fault.when == "before" else None
    began = time.monotonic()
    try:
        running = scene.start(fault.command)
        if fault.when == "during":
            running.wait_for(fault.at)
            undo = carry_out(scene, fault.fault)
        done = running.end(within)
    except BaseException:
        _undo(undo)
        raise
    spent = time.monotonic() - began
    scene.note_connections(f"{fault.command} in the fault", logs)
    return done, spent, undo


def _fine(fault: Fault) -> set[int]:
    """Return the exit statuses of a command that did its work."""
    # Restarts that earlier faults have caused are drift, too.
    return {0, NO_CHANGES_EXPECTED} if fault.command == "drift" else {0}


def _see_no_drift(scene: Scene) -> None:
    """Check that nothing is other than declared, but for restarts: their count stays."""
    done = scene.run("drift", "--json")
    assert done.code in (0, NO_CHANGES_EXPECTED), done.text
    rows = json.loads(done.text[done.text.index("[") :])
    assert [row for row in rows if not row["found"].endswith(" restarts")] == []


def _succeeds_now(scene: Scene, done: Run) -> None:
    assert done.code == 0, done.text
    assert scene.answers(), "`up` succeeded, and the server does not answer"


def _undo(undo: Undo) -> None:
    if undo is not None:
        undo()
