"""Brings the stage into the state that a fault starts from, whatever the last one left."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

from lab import Lab, LabError
from tests.faults.actions import no_image
from tests.faults.places import BYSTANDER, PLACES, STACK
from tests.faults.scene import Scene
from tests.images import without_ray
from tests.project import Project

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.matrix import Fault

LAB_SECONDS = 900
"""The first start of a lab builds images, and removing a large one takes minutes, too."""
_CLEAR = f"""
pkill -KILL -x docker
docker ps --all --quiet | xargs --no-run-if-empty docker rm --force
docker volume ls --quiet --filter name=tandem-{STACK} | xargs --no-run-if-empty docker volume rm
"""


class Stage:
    """Keeps a deployment between faults, as long as they end as expected."""

    _lab: Lab

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state: tuple[object, ...] | None = None
        """What the last fault left, where that is known: image and backend, changed keys, what is
        deployed."""
        self._scene: Scene | None = None
        self._sample = ""
        self._disk_gib: int | None = None

    def set(self, fault: Fault) -> Scene:
        """Return the stage as the fault needs it."""
        if self._scene is None or self._disk_gib != fault.disk_gib:
            self._lab, self._disk_gib = _lab_with(fault.disk_gib), fault.disk_gib
            self._state = None
        lab = self._lab
        lab.heal()
        if self._scene is not None:
            self._scene.old = frozenset()
        kind = (fault.image, fault.backend)
        wanted = (kind, repr(fault.change), fault.start)
        if self._state is None or self._scene is None or self._state[0] != kind:
            self._scene = self._anew(lab)
            self._scene.places = PLACES[fault.backend]
        scene = self._scene
        if self._state != wanted or not (fault.start == "nothing" or scene.is_whole()):
            self._write_stack_file(scene, fault)
            self._deploy(scene, fault)
        if not fault.has_image:
            no_image(scene, lab.hosts[0])
        # What happens from here on counts only when `keep` is called.
        self._state = None
        scene.ended, scene.old = None, frozenset()
        scene.cut.clear()
        for noted in (scene.connections, scene.beside, scene.stayed):
            noted.clear()
        return scene

    def keep(self, fault: Fault, *, deployed: bool) -> None:
        """Note that a fault has left a known state."""
        if fault.change or fault.fault.action == "older_state":
            return
        start = "running" if deployed else "nothing"
        self._state = ((fault.image, fault.backend), repr(fault.change), start)

    def clear(self) -> None:
        """Take down what is there."""
        if self._scene is not None:
            self._scene.project.pulumi("destroy", "--yes", "--skip-preview")
            _remove_all(self._scene.lab)

    def _anew(self, lab: Lab) -> Scene:
        for host in lab.hosts:
            if host.init() is None:
                lab.power_on(host)
        _remove_all(lab)
        for host in lab.hosts:
            words = f"--detach --init --restart unless-stopped --name {BYSTANDER}"
            done = host.ssh(f"docker run {words} {lab.small_image} sleep 1000000")
            assert done.returncode == 0, done.stderr
        shutil.rmtree(self._folder, ignore_errors=True)
        project = Project.copy(self._folder, STACK, "lab")
        self._sample = project.stack_file.read_text()
        return Scene(lab, project)

    def _write_stack_file(self, scene: Scene, fault: Fault) -> None:
        project, lab = scene.project, scene.lab
        project.stack_file.write_text(self._sample)
        project.change("image.reference", _image(lab, fault))
        for index, host in enumerate(lab.hosts):
            # A user of its own: the lab's and the tests' own connections are root's.
            project.change(f"hosts.{index}.ssh", f"{host.name}-tandem")
        # One fault after the other: their restarts together are not too many.
        project.change("restarts", {"limit": 100})
        if fault.backend != "ray":
            project.change("backend", fault.backend)
            project.change("ray", None)
        if fault.image == "stand-in":
            project.change(fault.backend, {"joinTimeout": "40s"})
            project.change("serve.readyTimeout", "40s")
        for key, value in fault.change.items():
            project.change(key, value)

    def _deploy(self, scene: Scene, fault: Fault) -> None:
        if fault.start == "running":
            done = scene.run("up", "--refresh", seconds=600)
            assert done.code == 0, done.text
            assert scene.is_whole()
        else:
            done = scene.run("destroy")
            assert done.code == 0, done.text


def _lab_with(disk_gib: int | None) -> Lab:
    """Return the lab, for which another one that starts or stops at this moment is waited for."""
    deadline = time.monotonic() + LAB_SECONDS
    while True:
        try:
            return Lab.up(2, disk_gib=disk_gib)
        except LabError as problem:
            if "another command" not in str(problem) or time.monotonic() > deadline:
                raise
        time.sleep(1)


def _image(lab: Lab, fault: Fault) -> str:
    if fault.image == "stand-in":
        return lab.stand_in_image
    return lab.image if fault.backend == "ray" else without_ray(lab)


def _remove_all(lab: Lab) -> None:
    for host in lab.hosts:
        host.ssh(_CLEAR)
