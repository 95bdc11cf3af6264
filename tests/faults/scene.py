"""The stage: a lab, a deployment on it, other people's containers, and what can be seen of them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.chat import chat
from tests.faults.commands import Started, left_behind, pulumis_own
from tests.faults.places import BYSTANDER, HELD, PLACES, STACK, Places
from tests.faults.ranks import running
from tests.faults.unharmed import see_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab import Host, Lab, Process
    from tests.faults.matrix import Command
    from tests.project import Project, Run

Snapshot = dict[str, dict[str, Any]]
"""What a refused command leaves as it is: containers and volumes by host, resources by URN with
their id, and with all their properties."""

_MOST_CONNECTIONS = 2
"""SSH connections that one command may open to one host."""
_MOST_OF_REFRESH = 8
"""A refresh asks for all resources of a host at once, before one connection is there to share."""
_SEE = "docker ps --all --no-trunc --format '{{.Names}} {{.ID}} {{.State}}'"
_STARTED = f"docker inspect --format '{{{{.Id}}}} {{{{.State.StartedAt}}}}' {BYSTANDER}"
_VOLUMES = f"docker volume ls --quiet --filter name=tandem-{STACK}"
_RECORDED = ("id", "inputs", "outputs")
_WORKERS = {"docker", "timeout"}
"""What a command of Tandem's runs on a host; nothing of it may stay there."""


@dataclass
class Scene:
    """What actions and endings work on."""

    lab: Lab
    project: Project
    places: Places = PLACES["ray"]
    current: Started | None = None
    """The command that runs."""
    ended: Run | None = None
    """How the command has ended that a fault disturbed; None before that."""
    beside: list[Run] = field(default_factory=list)
    """Other commands that ran beside it."""
    stayed: list[Process] = field(default_factory=list)
    """Pulumi's own programs that an interrupted command has left on the operator's machine."""
    patience: float | None = None
    """Seconds in which evidence has to show, where it is not each kind's own."""
    cut: set[str] = field(default_factory=set)
    """Hosts that the others can't reach at this moment."""
    old: frozenset[int] = frozenset()
    """What ran of vLLM before a fault, where no backend keeps any of it: all has to go."""
    connections: list[tuple[str, str, int, int]] = field(default_factory=list)
    """Command, host, SSH connections that were accepted, and those that were refused."""

    @property
    def endpoint(self) -> str:
        """Return where the server answers."""
        return f"http://{self.lab.hosts[0].address}:8000/v1"

    def start(self, command: Command, *more: str) -> Started:
        """Start a command of the operator."""
        self.current = Started(self.project, command, *more)
        return self.current

    def run(self, command: Command, *more: str, seconds: float = 240) -> Run:
        """Run a command of the operator to its end."""
        before = {host.name: self._ssh_log(host) for host in self.lab.hosts}
        done = self.start(command, *more).end(seconds)
        see_words(done)
        self.note_connections(" ".join((command, *more)), before)
        return done

    def note_connections(self, command: str, before: dict[str, str]) -> None:
        """Note what the hosts' sshd logged since ``before``."""
        for host in self.lab.hosts:
            new = self._ssh_log(host).removeprefix(before[host.name])
            accepted = new.count("Accepted publickey for tandem ")
            refused = sum(new.count(words) for words in ("drop connection", "no more sessions"))
            self.connections.append((command, host.name, accepted, refused))

    def ssh_logs(self) -> dict[str, str]:
        """Return what sshd logged by host; nothing of a host that is off."""
        return {host.name: self._ssh_log(host) for host in self.lab.hosts}

    def answers(self) -> bool:
        """Tell whether the server completes a chat; the lab's model may never end its reasoning."""
        try:
            message = chat(self.endpoint, seconds=5)
        except OSError:
            return False
        return bool(message["content"] or message["reasoning"])

    def containers(self) -> dict[str, dict[str, str]]:
        """Return by host the containers with their id and state; a silent host has none."""
        found = {}
        for host in self.lab.hosts:
            lines = host.ssh(_SEE).stdout.splitlines() if host.init() else []
            found[host.name] = {line.split()[0]: line.partition(" ")[2] for line in lines}
        return found

    def snapshot(self) -> Snapshot:
        """Return what a command may change: on the hosts, and in the state."""
        volumes = {
            host.name: sorted(host.ssh(_VOLUMES).stdout.split()) if host.init() else []
            for host in self.lab.hosts
        }
        state = self.state()
        return {
            "containers": self.containers(),
            "volumes": volumes,
            "resources": {urn: one["id"] for urn, one in state.items()},
            "properties": state,
        }

    def state(self) -> dict[str, dict[str, Any]]:
        """Return the resources that the state has, by the end of their URN."""
        file = self.project.folder / f"backend/.pulumi/stacks/tandem/{STACK}.json"
        resources = json.loads(file.read_text())["checkpoint"]["latest"].get("resources") or ()
        return {
            "::".join(one["urn"].split("::")[2:]): {key: one.get(key) for key in _RECORDED}
            for one in resources
            # The stack itself comes with every try.
            if one["type"] != "pulumi:pulumi:Stack" or one.get("outputs")
        }

    def is_whole(self) -> bool:
        """Tell whether every container runs and the server answers."""
        seen = self.containers()
        names = [(host, name) for host in seen for name in self.places.on(host)]
        all_run = all(seen[host].get(name, "").endswith(" running") for host, name in names)
        return all_run and not self._old() and self.answers()

    def until(self, holds: Callable[[], bool], seconds: float, what: str) -> float:
        """Wait until something holds; return after how many seconds it did."""
        began = time.monotonic()
        while not holds():
            spent = time.monotonic() - began
            assert spent < seconds, f"{what}: not within {seconds:.0f} s\n{self.containers()}"
            time.sleep(0.1)
        return time.monotonic() - began

    def bystanders(self) -> dict[str, list[str]]:
        """Return by host the id and the start of the container that is not ours."""
        return {host.name: host.ssh(_STARTED).stdout.split() for host in self.lab.hosts}

    def leftovers(self, *, deployed: bool) -> list[str]:
        """Return what is on the machine and the hosts that should not be, and what is missing."""
        folder = self.project.folder
        found = [f"operator: {one}" for one in (*left_behind(folder), *pulumis_own(folder))]
        for host in self.lab.hosts:
            words = _leftovers(host, self.places, deployed=deployed)
            if deployed and self.places.has_generations:
                words += running(host).leftovers(self.old)
            found += [f"{host.name}: {one}" for one in words]
        return found

    def left_on_hosts(self) -> list[str]:
        """Return what an interrupted command still does on the hosts."""
        found = []
        for host in self.lab.hosts:
            known = self.places.on(host.name) | {BYSTANDER, HELD}
            names = host.ssh("docker ps --all --format '{{.Names}}'").stdout.split()
            found += [f"{host.name}: container {name}" for name in names if name not in known]
            found += [f"{host.name}: {one}" for one in host.processes() if one.name in _WORKERS]
        return found

    def note_old(self) -> None:
        """Note what runs of vLLM, all of which has to go when the group is broken."""
        if self.places.has_generations:
            self.old = frozenset(pid for host in self.lab.hosts for pid in running(host).all)

    def _old(self) -> frozenset[int]:
        return frozenset(pid for host in self.lab.hosts for pid in running(host).all & self.old)

    def _ssh_log(self, host: Host) -> str:
        init = host.init()
        if init is None:
            return ""
        log = Path(f"/proc/{init.pid}/root/var/log/sshd.log")
        return log.read_text(errors="replace") if log.exists() else ""


def most_connections(command: str) -> int:
    """Return how many SSH connections a command may open to one host."""
    refreshes = any(word in command for word in ("refresh", "drift"))
    return _MOST_OF_REFRESH if refreshes else _MOST_CONNECTIONS


def _leftovers(host: Host, places: Places, *, deployed: bool) -> list[str]:
    seen = {
        "container": set(host.ssh("docker ps --all --format '{{.Names}}'").stdout.split()),
        "volume": set(host.ssh("docker volume ls --quiet").stdout.split()),
        "network": set(host.ssh("docker network ls --format '{{.Name}}'").stdout.split()),
    }
    wanted = {
        "container": (places.on(host.name) if deployed else set()) | {BYSTANDER},
        "volume": places.volumes(host.name) if deployed else set(),
        "network": {"bridge", "host", "none"},
    }
    words = [f"{kind} {name}" for kind in seen for name in sorted(seen[kind] - wanted[kind])]
    words += [f"no {kind} {name}" for kind in seen for name in sorted(wanted[kind] - seen[kind])]
    words += [f"process {p}" for p in host.processes() if p.name in _WORKERS]
    if not deployed:
        mounts = host.ssh("grep -c /volumes/tandem- /proc/1/mounts").stdout.strip()
        words += [f"{mounts} mounts of volumes"] if mounts != "0" else []
        ours = [p for p in host.processes() if p.depth > 1 and "sleep" not in p.command]
        words += [f"process {p}" for p in ours if p.name not in {"tini", "docker-init"}]
    return words
