"""What can be seen of hosts and containers from the operator's machine, for evidence."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lab import LabError, processes
from lab.image import stand_in
from lab.layout import REGISTRY_PORT

if TYPE_CHECKING:
    import re

    from lab import Host, Lab
    from tests.faults.scene import Scene

ANSWER_SECONDS = 3
"""How long a connection may take to be taken: less than what the kernel needs to give up."""
_SSH = 22
_SEE = "{{json .Id}} {{json .State.Status}} {{json .State.StartedAt}} {{json .State.ExitCode}}"


@dataclass(frozen=True)
class Container:
    """A container at one moment, in Docker's words."""

    id: str
    status: str
    started: str
    exit_code: int


def container(scene: Scene, name: str, host: str | None = None) -> Container | None:
    """Return a container, None where Docker has none of that name.

    Raises LabError when its host does not answer.
    """
    place = scene.lab.host(host or scene.places.homes[name])
    name = scene.places.names.get(name, name)
    done = place.ssh(f"docker inspect --type container --format '{_SEE}' {name}")
    if "No such container" in done.stderr:
        return None
    if done.returncode != 0:
        raise LabError(f"{place.name}: {done.stderr.strip()}")
    return Container(*(json.loads(word) for word in done.stdout.split()))


def ends(scene: Scene, name: str, how: str) -> int:
    """Return how often a container's log says that its command ended in a way."""
    words = f"tandem: the command ended: {how}"
    place = scene.places
    log = f"docker logs {place.names[name]} 2>&1 | grep --count --fixed-strings '{words}'"
    return number(scene.lab.host(place.homes[name]), log)


def out_of_memory(scene: Scene, name: str) -> frozenset[str]:
    """Return the times at which the kernel ended something in a container for want of memory."""
    ours = scene.places.names[name]
    words = f"--filter event=oom --filter container={ours} --format '{{{{.TimeNano}}}}'"
    host = scene.lab.host(scene.places.homes[name])
    return frozenset(host.ssh(f"docker events --since 2h --until 0s {words}").stdout.split())


def pids(host: Host, command: re.Pattern[str]) -> frozenset[int]:
    """Return the processes of a host whose command line matches; none of one that is off."""
    init = host.init()
    if init is None:
        return frozenset()
    found = [init, *processes.descendants(init, processes.all_processes())]
    return frozenset(process.pid for process in found if command.search(" ".join(process.command)))


def connections(lab: Lab, to: str, host: str, count: int) -> tuple[str, ...]:
    """Return what becomes of so many connections at the same time, in one word each."""
    places = {"registry": (lab.site.gateway, REGISTRY_PORT), "sshd": (lab.host(host).address, _SSH)}
    with ExitStack() as open_ones:
        return tuple(_connect(places[to], open_ones, speaks=to == "sshd") for _ in range(count))


def _connect(place: tuple[str, int], open_ones: ExitStack, *, speaks: bool) -> str:
    try:
        connection = socket.create_connection(place, ANSWER_SECONDS)
        open_ones.enter_context(connection)
        # Beyond its limits sshd says so and closes.
        return "answered" if not speaks or connection.recv(4) == b"SSH-" else "closed"
    except ConnectionRefusedError:
        return "refused"
    except ConnectionResetError:
        return "closed"
    except OSError:
        return "silent"


def number(host: Host, command: str) -> int:
    """Return the last word that a command prints on a host, a number."""
    return int(host.ssh(command).stdout.split()[-1])


def images(lab: Lab, host: Host) -> tuple[str, ...]:
    """Return the ids of what a host has a name of the stand-in's image for."""
    words = f"docker image ls --no-trunc --quiet {lab.site.registry}/{stand_in.REPOSITORY}"
    return tuple(host.ssh(words).stdout.split())


def vllm_version(lab: Lab, host: Host) -> str:
    """Return the version of vLLM that the stand-in's image has on a host."""
    command = "from importlib import metadata; print(metadata.version('vllm'))"
    words = "docker run --rm --network none --entrypoint python3"
    image, *_ = images(lab, host)
    return host.ssh(f'{words} {image} -c "{command}"').stdout.strip()


def received(host: Host) -> int:
    """Return how many bytes have come to a host over its cable since it was plugged in."""
    end = Path("/sys/class/net", host.site.link(host.index), "statistics/tx_bytes")
    return int(end.read_text())
