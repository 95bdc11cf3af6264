"""What breaks. Each action returns how it is undone, or None when nothing has to be."""

from __future__ import annotations

import contextlib
import shlex
import signal
from collections.abc import Callable, Sequence
from http.client import HTTPException
from typing import TYPE_CHECKING

from tests.chat import chat
from tests.faults.commands import asks
from tests.faults.sight import images

if TYPE_CHECKING:
    from lab import Host
    from tests.faults.matrix import Action, Command
    from tests.faults.scene import Scene

MODEL = "/srv/models/tiny-qwen3"
Undo = Callable[[], object] | None


def carry_out(scene: Scene, action: Action) -> Undo:
    """Do what breaks something."""
    host = scene.lab.host(action.host)
    return ACTIONS[action.action](scene, host, **action.options)


def nothing(scene: Scene, host: Host) -> Undo:
    """Break nothing: with this in its place, no fault may end as it has to."""
    return None


def shell(scene: Scene, host: Host, *, run: str, undo: str = "") -> Undo:
    """Run a command on the host; {server} and the like and {busybox} stand for names."""
    names = scene.places.names | {"busybox": scene.lab.small_image}
    done = host.ssh(run.format(**names))
    assert done.returncode == 0, done.stderr
    return (lambda: host.ssh(undo.format(**names))) if undo else None


def prompt(scene: Scene, host: Host, *, text: str, times: int = 1) -> Undo:
    """Ask the server for what breaks it, as often as it comes back."""
    for _ in range(times):
        with contextlib.suppress(AssertionError):
            scene.until(scene.answers, 30, "the server answers")
        with contextlib.suppress(OSError, HTTPException):
            chat(scene.endpoint, prompt=text, seconds=3)
    return None


def out_of_memory(scene: Scene, host: Host, *, container: str) -> Undo:
    """Let the kernel end what a container runs for want of memory."""
    name = scene.places.names[container]
    scene.lab.limit_memory(host, name, mib=64)
    # The kernel chooses by score, and would choose what takes the memory. What is large in a real
    # container is Ray or vLLM, never a program around it.
    mark = "grep -q -e supervise.py -e generation.py $its/cmdline || echo 1000 >$its/oom_score_adj"
    others = f"for its in /proc/[0-9]*; do [ $its = /proc/$$ ] || {mark}; done"
    took = "exec python3 -c 'x = bytes(1) * (1 << 28)'"
    # `docker exec` may hang when its container ends under it.
    host.ssh(f"timeout 20 docker exec {name} sh -c {shlex.quote(f'{others}; {took}')}")
    return None


def power_cut(scene: Scene, host: Host, *, both: bool = False, stays_off: bool = False) -> Undo:
    """Cut the power of a host or of both; unless they stay off, they boot again."""
    hosts = scene.lab.hosts if both else (host,)
    for one in hosts:
        scene.lab.power_cut(one, off=True)
    if stays_off:
        return lambda: _power_on(scene, hosts)
    _power_on(scene, hosts)
    return None


def partition(scene: Scene, host: Host, *, one_way: bool = False, percent: int = 100) -> Undo:
    """Drop what passes between the hosts."""
    scene.lab.partition(host, one_way=one_way, percent=percent)
    return _cut(scene, host)


def link(scene: Scene, host: Host) -> Undo:
    """Pull the cable."""
    scene.lab.cut_link(host)
    return _cut(scene, host)


def slow_link(scene: Scene, host: Host, *, mbit: float) -> Undo:
    """Make the cable slow."""
    scene.lab.slow_link(host, mbit=mbit)
    return lambda: scene.lab.heal(host)


def dockerd(scene: Scene, host: Host, *, restart: bool) -> Undo:
    """Stop dockerd, and start it again if it is to restart."""
    scene.lab.stop_docker(host)
    if not restart:
        return lambda: scene.lab.start_docker(host)
    scene.lab.start_docker(host)
    return None


def sshd(scene: Scene, host: Host, *, how: str) -> Undo:
    """Stop sshd with all its connections, restart it so (how: stop, restart), or limit it."""
    if how != "limit":
        scene.lab.stop_ssh(host)
    if how != "stop":
        scene.lab.start_ssh(host, limited=how == "limit")
    return (lambda: scene.lab.start_ssh(host)) if how != "restart" else None


def no_image(scene: Scene, host: Host) -> Undo:
    """Take the image from both hosts, so that the next `up` has to pull it."""
    for one in scene.lab.hosts:
        one.ssh(f"docker rmi --force {' '.join(images(scene.lab, one))}")
    return None


def registry(scene: Scene, host: Host) -> Undo:
    """Stop the registry while no host has the image."""
    no_image(scene, host)
    scene.lab.stop_registry()
    return scene.lab.start_registry


def full_disk(scene: Scene, host: Host, *, path: str, leave_mib: int) -> Undo:
    """Fill the host's disk."""
    scene.lab.fill_disk(host, path, leave_mib=leave_mib)
    return lambda: scene.lab.heal(host)


def large_model(scene: Scene, host: Host, *, gib: int) -> Undo:
    """Put a large file beside the model on both hosts, where no manifest says what is there."""
    notes = f"{MODEL}/notes.txt"
    for one in scene.lab.hosts:
        # Of zeros that take no room: what takes time is to read and to hash them.
        assert one.ssh(f"truncate --size={gib}G {notes}").returncode == 0
    for manifest in (scene.project.folder / "stacks" / "manifests").glob("*.json"):
        manifest.unlink()
    return lambda: [one.ssh(f"rm {notes}") for one in scene.lab.hosts]


def interrupt(scene: Scene, host: Host, *, number: str, program: str = "") -> Undo:
    """Send a signal, such as SIGINT, to the command that runs, once a program asks a host."""
    assert scene.current is not None
    if program:
        folder = scene.project.folder
        scene.until(lambda: asks(folder, program), 30, f"{program} asks a host")
    scene.current.send(signal.Signals[number])
    return None


def beside(scene: Scene, host: Host, *, command: Command) -> Undo:
    """Run another command beside the one that runs."""
    first = scene.current
    scene.beside.append(scene.start(command).end(60))
    scene.current = first
    return None


def older_state(scene: Scene, host: Host) -> Undo:
    """Keep a copy of the state, change the deployment by `up`, and restore the copy."""
    copy = scene.project.folder / "older.json"
    assert scene.project.pulumi("stack", "export", "--file", str(copy)).code == 0
    scene.project.change("serve.maxModelLen", 256)
    done = scene.run("up")
    assert done.code == 0, done.text
    restored = scene.project.pulumi("stack", "import", "--file", str(copy))
    assert restored.code == 0, restored.text
    return None


def _cut(scene: Scene, host: Host) -> Undo:
    scene.cut.add(host.name)

    def undo() -> None:
        scene.lab.heal(host)
        scene.cut.discard(host.name)

    return undo


def _power_on(scene: Scene, hosts: Sequence[Host]) -> None:
    for host in hosts:
        scene.lab.power_on(host)


ACTIONS: dict[str, Callable[..., Undo]] = {
    function.__name__: function
    for function in (
        *(nothing, shell, prompt, out_of_memory, power_cut, partition, link, slow_link, dockerd),
        *(sshd, no_image, registry, full_disk, large_model, interrupt, beside, older_state),
    )
}
