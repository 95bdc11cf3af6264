"""Every ending is truthful: whatever breaks, an operator is told, or needs to do nothing."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from tests.faults.endings import see_ending
from tests.faults.evidence import NoEvidence
from tests.faults.matrix import Action, Fault, read_matrix
from tests.faults.ranks import Watch
from tests.faults.record import Ending
from tests.faults.scene import most_connections

if TYPE_CHECKING:
    from tests.faults.record import Record
    from tests.faults.scene import Scene
    from tests.faults.stage import Stage

LEFT_SECONDS = 20
"""How long something may take to end after a command has."""
NOTHING_SECONDS = 2
"""How long evidence is waited for where nothing was done that could cause it."""

FAULTS = [
    pytest.param(fault, id=fault.slug, marks=[pytest.mark.quick] if fault.quick else [])
    for fault in read_matrix()
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_as_it_has_to_and_leaves_nothing(
    fault: Fault, stage: Stage, record: Record, nothing: bool
) -> None:
    scene = stage.set(fault)
    record.note(fault, Ending(seconds=None))
    if nothing:
        see_no_evidence(scene, fault)
        record.note(fault, Ending(seconds=0))
        return
    bystanders = scene.bystanders()
    watch = Watch(scene) if scene.places.has_generations else None
    with watch or nullcontext():
        seconds = see_ending(scene, fault)
        deployed = fault.command != "destroy"
        see_leftovers(scene, deployed=deployed)
    see_bystanders(scene, fault, bystanders)
    see_connections(scene, fault)
    stage.keep(fault, deployed=deployed)
    stayed = [str(one) for one in scene.stayed]
    said_yes = watch.longest if watch else 0.0
    record.note(fault, Ending(seconds=seconds, health_said_yes=said_yes, stayed=stayed))


def see_no_evidence(scene: Scene, fault: Fault) -> None:
    """Check that the fault fails for want of evidence when nothing is done."""
    scene.patience = NOTHING_SECONDS
    try:
        with pytest.raises(NoEvidence):
            see_ending(scene, fault.model_copy(update={"fault": Action(action="nothing")}))
    finally:
        scene.patience = None


def see_leftovers(scene: Scene, *, deployed: bool) -> None:
    """Check that all that should be there is, and nothing else."""
    deadline = time.monotonic() + LEFT_SECONDS
    while left := scene.leftovers(deployed=deployed):
        assert time.monotonic() < deadline, left
        time.sleep(1)


def see_bystanders(scene: Scene, fault: Fault, before: dict[str, list[str]]) -> None:
    """Check that other people's containers are the same, and were not restarted."""
    after = scene.bystanders()
    if fault.restarts_others:
        before, after = ({h: v[:1] for h, v in side.items()} for side in (before, after))
    assert all(before.values())
    assert after == before


def see_connections(scene: Scene, fault: Fault) -> None:
    """Check that no command has opened many SSH connections, and that none was refused."""
    if fault.of_ssh:
        return
    many = [
        (command, host, accepted, refused)
        for command, host, accepted, refused in scene.connections
        if accepted > most_connections(command) or refused
    ]
    assert many == [], "command, host, connections, refused ones"
