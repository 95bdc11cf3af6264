"""The same containers, started by a plain script over the same SSH with exact waits.

It does what a careful person types: `docker create`, `docker cp`, `docker start`, then asks until
the answer is there. Survey, drift and repair are not in it.
"""

from __future__ import annotations

import io
import shlex
import tarfile
import time
from typing import TYPE_CHECKING

from tandem.remote import source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner import ContainerSpec, Plan
    from tandem.ssh import SshTarget

POLL_SECONDS = 0.5


def start(plan: Plan) -> None:
    """Start the plan's containers in their order and return with the first chat completion.

    Raises RuntimeError with a command's own words when it fails.
    """
    target = {host.name: host.target for host in plan.hosts}
    volumes(plan)
    if plan.ray is not None:
        for spec in plan.containers[:-1]:
            container(target[spec.host], spec, plan.hosts[0].image)
        nodes = [f"--node={node.address}={node.gpus}" for node in plan.ray.join.nodes]
        words = (f"--address={plan.ray.join.ray_address}", *nodes, "--", "true")
        inside = ("docker", "exec", "-i", plan.ray.head.name, "python3", "-", *words)
        say(target[plan.ray.head.host], *inside, stdin=source("ray_contract.py"))
    head = target[plan.server.host]
    container(head, plan.server, plan.hosts[0].image, plan)
    asked = ("docker", "exec", "-i", plan.server.name, "python3", "-", plan.ready.url)
    while '"answered"' not in head.run(*asked, plan.served_name, stdin=source("ask.py")).stdout:
        time.sleep(POLL_SECONDS)


def remove(plan: Plan) -> None:
    """Take everything down again."""
    target = {host.name: host.target for host in plan.hosts}
    for spec in reversed(plan.containers):
        say(target[spec.host], "docker", "stop", "--time", str(spec.grace_seconds), spec.name)
        say(target[spec.host], "docker", "rm", spec.name)
    for host in plan.hosts:
        say(host.target, "docker", "volume", "rm", host.model_volume.name)
    if plan.ray is not None:
        say(plan.hosts[0].target, "docker", "volume", "rm", plan.ray.session_volume.name)


def volumes(plan: Plan) -> None:
    """Make the volumes of the models and of Ray's session."""
    for host in plan.hosts:
        device = f"device={host.model_volume.device}"
        options = ("--opt", "type=none", "--opt", "o=bind", "--opt", device)
        say(host.target, "docker", "volume", "create", *options, host.model_volume.name)
    if plan.ray is not None:
        say(plan.hosts[0].target, "docker", "volume", "create", plan.ray.session_volume.name)


def container(target: SshTarget, spec: ContainerSpec, image: str, plan: Plan | None = None) -> None:
    """Create a container, put its files into it, and start it."""
    say(target, "docker", "create", *options(spec, plan), image, *command(spec))
    for upload in spec.uploads:
        say(
            target,
            "docker",
            "cp",
            "-",
            f"{spec.name}:/",
            stdin=archive(upload.path, upload.content),
        )
    say(target, "docker", "start", spec.name)


def command(spec: ContainerSpec) -> tuple[str, ...]:
    """Return the words after the image: what follows the entrypoint's first word."""
    return (*(spec.entrypoint or ())[1:], *spec.command)


def options(spec: ContainerSpec, plan: Plan | None) -> Iterator[str]:
    """Yield the words of `docker create` before the image, as components/canonical.py has them."""
    yield from ("--name", spec.name, "--network", "host", "--restart", "on-failure")
    yield from ("--log-driver", "json-file", "--log-opt", "max-size=50m", "--log-opt", "max-file=3")
    yield from ("--gpus", "all" if isinstance(spec.gpus, int) else f"device={','.join(spec.gpus)}")
    if spec.entrypoint:
        yield from ("--entrypoint", spec.entrypoint[0])
    for name, value in spec.env.items():
        yield from ("--env", f"{name}={value}")
    for mount in spec.mounts:
        yield from ("--volume", f"{mount.volume}:{mount.target}" + ":ro" * mount.read_only)
    if spec.beside_head and plan is not None and plan.ray is not None:
        beside = f"container:{plan.ray.head.name}"
        yield from ("--ipc", beside, "--pid", beside)
    else:
        yield from ("--init", "--ipc", "shareable", "--shm-size", str(spec.shm_bytes))


def archive(path: str, content: str) -> str:
    """Return a tar file with one file in it, as text: `docker cp -` reads it."""
    data = content.encode()
    member = tarfile.TarInfo(path.removeprefix("/"))
    member.size = len(data)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue().decode()


def say(target: SshTarget, *words: str, stdin: str = "") -> str:
    """Run a command on a host; raise RuntimeError when it fails."""
    done = target.run(*words, stdin=stdin)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(words[:4])}: {done.stderr.strip()}")
    return done.stdout
