"""How a fault ends, told by what an operator can see; each returns the seconds it took."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from tandem.survey.engine import NO_CHANGES_EXPECTED
from tests.faults.disturbance import broken, disturbed
from tests.faults.matrix import DriftThenUp, Fault, Refused, RepairedByItself, Succeeds
from tests.faults.unharmed import see_unchanged

if TYPE_CHECKING:
    from tests.faults.scene import Scene
    from tests.project import Run

NOTICED_SECONDS = 8
"""By then a rank that is lost has ended the server: before that, it may answer without it.
Where it is known what has to go, that is waited for."""


def see_ending(scene: Scene, fault: Fault) -> float:
    """Stage a fault and check that it ends as expected; return the seconds that took.

    Raises NoEvidence where nothing shows that it has happened.
    """
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
    with broken(scene, fault):
        began = time.monotonic()
        noticed = 0 if scene.old else NOTICED_SECONDS
        time.sleep(noticed)
        left = expect.within - noticed
        scene.until(scene.is_whole, left, "the server answers over both hosts")
        spent = time.monotonic() - began
    done = scene.run("up", "--refresh", "--expect-no-changes")
    assert done.code == 0, done.text
    return spent


def _drift_then_up(scene: Scene, fault: Fault, expect: DriftThenUp) -> float:
    with broken(scene, fault) as mend:
        began = time.monotonic()
        while True:
            done = scene.run("drift")
            has_said = all(words in done.text for words in expect.says)
            if done.code == NO_CHANGES_EXPECTED and has_said:
                break
            assert time.monotonic() - began < expect.within, f"{done.code}: {done.text}"
            time.sleep(1)
        if expect.heals:
            mend()
        _see_success(scene, scene.run("up", "--refresh"))
        spent = time.monotonic() - began
    _see_no_drift(scene)
    return spent


def _refused(scene: Scene, fault: Fault, expect: Refused) -> float:
    assert fault.command
    before = scene.snapshot()
    with disturbed(scene, fault, expect.within) as (done, spent):
        assert expect.any_status or done.code not in (0, NO_CHANGES_EXPECTED), done.text
        for words in expect.says:
            assert words in done.text, f"{words!r} is not in:\n{done.text}"
    see_unchanged(scene, before, expect)
    again = scene.run(fault.command)
    if expect.then_says:
        assert again.code != 0, again.text
        for words in expect.then_says:
            assert words in again.text, f"{words!r} is not in:\n{again.text}"
        assert scene.project.pulumi("cancel", "--yes").code == 0
        again = scene.run(fault.command)
    assert again.code in _fine(fault), f"after:\n{again.text}\nand in the fault:\n{done.text}"
    if fault.command == "up":
        assert scene.answers(), "`up` succeeded, and the server does not answer"
    return spent


def _succeeds(scene: Scene, fault: Fault, expect: Succeeds) -> float:
    with disturbed(scene, fault, expect.within) as (done, spent):
        for words in expect.says:
            assert words in done.text, done.text
        assert done.code in _fine(fault), done.text
        if fault.command == "up":
            assert scene.answers(), "`up` succeeded, and the server does not answer"
    return spent


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


def _see_success(scene: Scene, done: Run) -> None:
    assert done.code == 0, done.text
    assert scene.answers(), "`up` succeeded, and the server does not answer"
