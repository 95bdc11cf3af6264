"""Docker on several hosts, as a gate meets it: what it answers to each command.

It refuses words that it does not know, and runs in earnest what is to run in a container.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tandem.ssh import UNREACHABLE
from tests.builders import DIGEST
from tests.unit.gates.docker_program import Answer
from tests.unit.gates.templates import render

RUNNING = {
    "Status": "running",
    "ExitCode": 0,
    "Error": "",
    "OOMKilled": False,
    "StartedAt": "2026-11-30T12:00:00Z",
    "FinishedAt": "0001-01-01T00:00:00Z",
}
LOGGED = "2026-11-30T12:14:48.282000000Z"
SECRET = "hf_a-secret-of-the-container"
ENV, OWN = ("PATH=/bin", f"HF_TOKEN={SECRET}"), "VLLM_HOST_IP=10.0.0"
ID = "0123abcd" * 8
IMAGE = f"registry.example/vllm@{DIGEST}"
RAY_ADDRESS = "10.0.0.1:6379"
INSTALLED = {"ray": "2.60.0", "vllm": "0.19.1"}
STAYS_NOT = {"--rm", "--pull=never", "--log-driver=none", "--entrypoint=python3"}
"""What every container has to be started with that a gate needs for a moment only."""

_TIMED = re.compile(r"\d{4}-\d\d-\d\dT\S+Z ")
_RAY = f"""\
import json, os, socket
socket.create_connection = lambda *words: socket.socket()
def is_initialized(): return False
def shutdown(): pass
def init(address, **options): assert address == {RAY_ADDRESS!r} and nodes()
def nodes():
    alive = json.loads(os.environ["NODES"])
    return [
        {{"Alive": True, "NodeManagerAddress": address, "NodeManagerPort": 1,
          "Resources": {{"GPU": count}}}}
        for address, counts in alive.items() for count in counts
    ]
"""


class UnknownWords(Exception):
    """Docker is asked for what it, or the test, does not know."""


@dataclass
class FakeDocker:
    """Answers every command that a gate sends; a test changes what it answers."""

    folder: Path
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """State by container, where it is not running; empty for a container that is not there."""
    restarts: Callable[[str, int], int] = lambda container, look: 0
    """How often a container has restarted at a look, counted from 1."""
    reach: Callable[[str, int], bool] = lambda place, look: True
    """Whether a look at a container comes through, or what starts one on a host."""
    alive: dict[str, list[int]] | None = None
    """The GPUs of each node that Ray has; None while its head does not answer."""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    """What the image holds by host, where it is not what it has to be."""
    failures: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By container or host, how Docker fails to run a program there: exit status and words."""
    logs: dict[str, str] = field(default_factory=dict)
    """What a container wrote, where it is not its last words alone; a line may have a time."""
    volumes: dict[str, Path] = field(default_factory=dict)
    """Folder of each volume that is there."""
    arguments: dict[str, list[str]] = field(default_factory=dict)
    """What a container was started with."""
    images: dict[str, str] = field(default_factory=dict)
    """The id of a container's image, where it is not that of all others."""
    listed: dict[str, list[str]] = field(default_factory=dict)
    """Containers of each host, for who asks for all of them."""
    looks: Counter[str] = field(default_factory=Counter)
    asked: list[tuple[str, str | None, list[str]]] = field(default_factory=list)
    """Host, seconds that it may take at most, and words of every command."""
    pids: list[int] = field(default_factory=list)
    """Processes of the programs that ran in containers."""
    refused: list[str] = field(default_factory=list)

    def answer(self, host: str, limit: str | None, words: list[str], pid: int) -> Answer:
        """Return what a command on a host gives that may take so many seconds."""
        self.asked.append((host, limit, words))
        commands = {
            "inspect": self._inspect,
            "logs": self._logs,
            "exec": self._exec,
            "volume": self._volume,
            "run": self._run,
            "ps": self._ps,
        }
        try:
            if words[0] not in commands:
                raise UnknownWords(words[0])
            if words[0] == "exec" and limit is None:
                raise UnknownWords("exec may hang for ever: it needs a limit")
            answer = commands[words[0]](host, words[1:])
        except UnknownWords as problem:
            self.refused.append(f"{shlex.join(words)[:400]}: {problem}")
            return Answer(125, err=f"unknown words: {problem}\n")
        if answer.run:
            self.pids.append(pid)
        return answer

    @property
    def is_idle(self) -> bool:
        """Tell whether nothing runs any more of what was started in containers."""
        return not any(Path(f"/proc/{pid}").exists() for pid in self.pids)

    def _inspect(self, host: str, words: list[str]) -> Answer:
        options, (container,) = _options(words, {"--format", "--type"}, {"--format", "--type"})
        if options.get("--type", "container") != "container":
            raise UnknownWords(options["--type"])
        self.looks[container] += 1
        look = self.looks[container]
        if not self.reach(container, look):
            return Answer(UNREACHABLE, err="Warning: something else\nConnection timed out\n")
        state = self.states.get(container, RUNNING)
        if not state or not _is_on(container, host):
            return Answer(1, err=f"Error: No such object: {container}\n")
        role = container.rpartition("-")[2]
        labels = {"dev.tandem.stack": "test", "dev.tandem.role": role}
        data = {
            "Id": ID,
            "State": RUNNING | state,
            "RestartCount": self.restarts(container, look),
            "Image": self.images.get(container, f"sha256:{ID}"),
            "Config": {
                "Image": IMAGE,
                "Labels": labels,
                "Env": [*ENV, f"{OWN}.{host[-1]}", "A=1"],
                "Cmd": self.arguments.get(container),
            },
        }
        return Answer(out=render(options["--format"], data) + "\n")

    def _logs(self, host: str, words: list[str]) -> Answer:
        known = {"--since", "--tail", "--timestamps"}
        options, (container,) = _options(words, known, {"--since", "--tail"})
        if not _is_on(container, host):
            return Answer(1, err=f"Error: No such container: {container}\n")
        written = self.logs.get(container, f"last words of {container}\n").splitlines(keepends=True)
        lines = [line if _TIMED.match(line) else f"{LOGGED} {line}" for line in written]
        lines = [line for line in lines if line >= options.get("--since", "")]
        if "--tail" in options:
            lines = lines[-int(options["--tail"]) :]
        if "--timestamps" not in options:
            lines = [line.partition(" ")[2] for line in lines]
        return Answer(err="".join(lines))

    def _exec(self, host: str, words: list[str]) -> Answer:
        options, (container, *command) = _options(words, {"--interactive"})
        if container in self.failures:
            status, said = self.failures[container]
            # It prints to standard output why it could not run anything.
            return Answer(status, out=said)
        if not _is_on(container, host):
            return Answer(1, err=f"Error: No such container: {container}\n")
        return self._python(host, command, has_input="--interactive" in options)

    def _volume(self, host: str, words: list[str]) -> Answer:
        if not self.reach(host, 1):
            return Answer(UNREACHABLE, err="Connection timed out\n")
        if words[:1] != ["inspect"] or len(words) == 1:
            raise UnknownWords("volume")
        missing = [name for name in words[1:] if name not in self.volumes]
        return Answer(1, err="Error: no such volume\n") if missing else Answer(out="[]\n")

    def _run(self, host: str, words: list[str]) -> Answer:
        first = next(i for i, word in enumerate(words) if not word.startswith("--"))
        given, image, command = set(words[:first]), words[first], words[first + 1 :]
        if image not in {IMAGE, "vllm:1"}:
            return Answer(125, err=f"Unable to find image '{image}' locally\n")
        volumes = [word.removeprefix("--volume=") for word in words if word.startswith("--volume=")]
        known = {"--interactive", "--network=none", "--network=host", "--user=0"}
        known |= {f"--volume={volume}" for volume in volumes}
        if not STAYS_NOT <= given <= STAYS_NOT | known:
            raise UnknownWords(" ".join(given ^ STAYS_NOT))
        if host in self.failures:
            status, said = self.failures[host]
            return Answer(status, err=said)
        folders = {place: self._folder(name) for name, place, *_ in _parts(volumes)}
        command = [str(folders.get(word, word)) for word in command]
        return self._python(host, ["python3", *command], has_input="--interactive" in given)

    def _ps(self, host: str, words: list[str]) -> Answer:
        options, rest = _options(words, {"--all", "--no-trunc", "--format"}, {"--format"})
        if rest or "--all" not in options:
            raise UnknownWords("ps")
        rows = [
            {"ID": f"{number:064x}", "Names": name, "Labels": {"dev.tandem.stack": "test"}}
            for number, name in enumerate(self.listed.get(host, ()), start=1)
        ]
        return Answer(out="".join(render(options["--format"], row) + "\n" for row in rows))

    def _python(self, host: str, command: list[str], *, has_input: bool) -> Answer:
        if command[:1] != ["python3"]:
            raise UnknownWords(command[0])
        env = {
            "PATH": os.defpath,
            "PYTHONPATH": str(self._image(host)),
            "NODES": json.dumps(self.alive or {}),
        }
        return Answer(run=(sys.executable, *command[1:]), env=env, has_input=has_input)

    def _image(self, host: str) -> Path:
        """Return the folder of what is installed in a host's image, made when it is first asked."""
        folder = self.folder / f"image-of-{host}"
        if not folder.exists():
            folder.mkdir()
            for name, version in self.versions.get(host, INSTALLED).items():
                about = folder / f"{name}-{version}.dist-info"
                about.mkdir()
                (about / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
            (folder / "ray.py").write_text(_RAY)
        return folder

    def _folder(self, volume: str) -> Path:
        """Return a volume's folder; Docker makes a volume that is not there."""
        if volume not in self.volumes:
            self.volumes[volume] = self.folder / volume
            self.volumes[volume].mkdir()
        return self.volumes[volume]


def _is_on(container: str, host: str) -> bool:
    return container.startswith(f"tandem-test-{host}-")


def _options(
    words: Iterable[str], known: set[str], with_value: Collection[str] = ()
) -> tuple[dict[str, str], list[str]]:
    """Return the options in front by name, and the words after them."""
    rest, options = list(words), {}
    while rest and rest[0].startswith("--"):
        name, equals, value = rest.pop(0).partition("=")
        if name not in known:
            raise UnknownWords(name)
        options[name] = rest.pop(0) if name in with_value and not equals else value
    return options, rest


def _parts(volumes: Iterable[str]) -> Iterable[list[str]]:
    return (re.split(":", volume) for volume in volumes)
