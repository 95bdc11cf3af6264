"""The same containers, handled by a plain script over the same SSH with exact waits.

It does what a careful person types who knows what has to be done: `docker create`, `docker cp`,
`docker start`, then asks until the answer is there. Looking, and finding out, are not in it.
"""

from __future__ import annotations

import io
import shlex
import tarfile
import time
from typing import TYPE_CHECKING

from tandem.gates.spec import JoinSpec
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
    volumes(plan)
    for spec in plan.containers[:-1]:
        container(plan, spec)
    serve(plan)


def serve(plan: Plan) -> None:
    """Start the server once Ray is complete, and return with the first chat completion."""
    if isinstance(plan.join, JoinSpec):
        nodes = [f"--node={node.address}={node.gpus}" for node in plan.join.nodes]
        words = (f"--address={plan.join.ray_address}", *nodes, "--", "true")
        first = plan.containers[0]
        inside = ("docker", "exec", "-i", first.name, "python3", "-", *words)
        say(host(plan, first), *inside, stdin=source("ray_contract.py"))
    container(plan, plan.server)
    head = host(plan, plan.server)
    asked = ("docker", "exec", "-i", plan.server.name, "python3", "-", plan.ready.url)
    while '"answered"' not in head.run(*asked, plan.served_name, stdin=source("ask.py")).stdout:
        time.sleep(POLL_SECONDS)


def change(plan: Plan) -> None:
    """Replace the server by the plan's, and return with the first chat completion."""
    take_away(plan, plan.server)
    serve(plan)


def repair(plan: Plan, worker: ContainerSpec) -> None:
    """Replace a worker that was killed, and the server, whose engine died with it."""
    take_away(plan, plan.server)
    take_away(plan, worker)
    container(plan, worker)
    serve(plan)


def remove(plan: Plan) -> None:
    """Take everything down again."""
    for spec in reversed(plan.containers):
        take_away(plan, spec)
    for one in plan.hosts:
        say(one.target, "docker", "volume", "rm", one.model_volume.name)
    for spec in plan.containers:
        if spec.volume is not None:
            say(host(plan, spec), "docker", "volume", "rm", spec.volume.name)


def take_away(plan: Plan, spec: ContainerSpec) -> None:
    """Stop a container with its grace, and remove it."""
    target = host(plan, spec)
    say(target, "docker", "stop", "--time", str(spec.grace_seconds), spec.name)
    say(target, "docker", "rm", spec.name)


def host(plan: Plan, spec: ContainerSpec) -> SshTarget:
    """Return the way to a container's host."""
    return next(one.target for one in plan.hosts if one.name == spec.host)


def volumes(plan: Plan) -> None:
    """Make the volumes of the models and of Ray's session."""
    for one in plan.hosts:
        device = f"device={one.model_volume.device}"
        options = ("--opt", "type=none", "--opt", "o=bind", "--opt", device)
        say(one.target, "docker", "volume", "create", *options, one.model_volume.name)
    for spec in plan.containers:
        if spec.volume is not None:
            say(host(plan, spec), "docker", "volume", "create", spec.volume.name)


def container(plan: Plan, spec: ContainerSpec) -> None:
    """Create a container, put its files into it, and start it."""
    target = host(plan, spec)
    say(target, "docker", "create", *options(plan, spec), plan.hosts[0].image, *command(spec))
    for upload in spec.uploads:
        files = archive(upload.path, upload.content)
        say(target, "docker", "cp", "-", f"{spec.name}:/", stdin=files)
    say(target, "docker", "start", spec.name)


def command(spec: ContainerSpec) -> tuple[str, ...]:
    """Return the words after the image: what follows the entrypoint's first word."""
    return (*(spec.entrypoint or ())[1:], *spec.command)


def options(plan: Plan, spec: ContainerSpec) -> Iterator[str]:
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
    if spec.shares is not None:
        beside = f"container:{spec.shares}"
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
