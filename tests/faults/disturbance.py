"""A fault from its beginning to its undoing, with the evidence that it has happened."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tests.faults.actions import carry_out
from tests.faults.evidence import Proof
from tests.faults.unharmed import see_nothing_runs_on, see_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.matrix import Action, Fault
    from tests.faults.scene import Scene
    from tests.project import Run

AT_SECONDS = 120
"""How long a command may take until it says what a fault waits for."""


@contextmanager
def broken(scene: Scene, fault: Fault) -> Iterator[Callable[[], None]]:
    """Break a deployment that runs for as long as the block lasts; give what undoes it earlier.

    Raises NoEvidence.
    """
    proof = Proof(scene, fault.evidence)
    scene.note_old()
    with ExitStack() as undoing:
        _carry_out(scene, fault.fault, undoing)
        time.sleep(fault.lasts or 0)
        proof.check(scene.patience)
        if fault.lasts is not None:
            undoing.close()
        yield undoing.close


@contextmanager
def disturbed(scene: Scene, fault: Fault, within: float) -> Iterator[tuple[Run, float]]:
    """Run a command with its fault, which is there until the block ends.

    Gives how the command ended, and after how many seconds: since the fault where that came while
    it ran. Raises NoEvidence.
    """
    assert fault.command
    proof = Proof(scene, fault.evidence)
    logs = scene.ssh_logs()
    with ExitStack() as undoing:
        if fault.hold and not fault.hold.at:
            _carry_out(scene, fault.hold, undoing)
        if fault.when == "before":
            _carry_out(scene, fault.fault, undoing)
        running = scene.start(fault.command)
        began = time.monotonic()
        if fault.hold and fault.hold.at:
            running.wait_for(fault.hold.at, AT_SECONDS)
            _carry_out(scene, fault.hold, undoing)
        if fault.when == "during":
            running.wait_for(fault.at, AT_SECONDS)
            began = time.monotonic()
            _carry_out(scene, fault.fault, undoing)
        done = running.end(within)
        spent = time.monotonic() - began
        see_words(done)
        scene.ended = done
        scene.note_connections(f"{fault.command} in the fault", logs)
        if fault.fault.action == "interrupt":
            see_nothing_runs_on(scene)
        proof.check(scene.patience)
        yield done, spent


def _carry_out(scene: Scene, action: Action, undoing: ExitStack) -> None:
    if undo := carry_out(scene, action):
        undoing.callback(undo)
