"""Docker on several hosts, as a gate sees it over SSH."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tandem.gates import join, ready
from tandem.ssh import UNREACHABLE, SshTarget

RUNNING = {"Status": "running", "ExitCode": 0, "Error": ""}


@dataclass
class FakeDocker:
    """Answers every command that a gate sends; a test changes what it answers."""

    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """State by container, where it is not running; empty for a container that is not there."""
    restarts: Callable[[str, int], int] = lambda container, look: 0
    """How often a container has restarted at a look, counted from 1."""
    reach: Callable[[str, int], bool] = lambda container, look: True
    """Whether a look at a container comes through."""
    alive: str = ""
    """What Ray says of its nodes."""
    versions: dict[str, str] = field(default_factory=dict)
    """What each container says of its versions."""
    answer: str = ""
    """What the question to the server gives."""
    log: str = ""
    """What the server logged of its memory."""
    looks: Counter[str] = field(default_factory=Counter)
    volumes: dict[str, Path] = field(default_factory=dict)
    """Folder of each volume that is there."""
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, target: SshTarget, *command: str) -> subprocess.Popen[str]:
        """Stand in for ``SshTarget.start``: the program runs here, on the volumes' folders."""
        assert command[:2] == ("sh", "-c")
        words = shlex.split(command[2])
        program, *places = words[words.index("-c") + 1 :]
        volumes = [word.removeprefix("--volume=") for word in words if word.startswith("--volume=")]
        folders = {place.split(":")[1]: self.volumes.get(place.split(":")[0]) for place in volumes}
        argv = [sys.executable, "-c", program, *(str(folders[place]) for place in places)]
        if not self.reach(target.destination, 1):
            argv = ["sh", "-c", f"echo Connection timed out >&2; exit {UNREACHABLE}"]
        elif None in folders.values():
            argv = ["sh", "-c", "echo Error: no such volume >&2; exit 1"]
        pipe = subprocess.PIPE
        self.started.append(subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return self.started[-1]

    def run(
        self, target: SshTarget, *command: str, stdin: str = "", timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Stand in for ``SshTarget.run``."""
        if command[:2] == ("docker", "inspect"):
            return self._inspect(command[-1])
        if command[:2] == ("sh", "-c") and "grep" in command[2]:
            return subprocess.CompletedProcess(command, 0, self.log, "")
        if command[:2] == ("sh", "-c"):
            container = command[2].split()[-2]
            return subprocess.CompletedProcess(command, 0, f"last words of {container}\n", "")
        assert command[0] == "timeout"
        command = command[2:]
        assert (command[:2], command[3:5]) == (("docker", "exec"), ("python3", "-c"))
        compile(command[5], "program", "exec")
        if "--report" in command:
            said = self.alive
        elif "--versions" in command:
            said = self.versions.get(command[2], '{"vllm": "0.19.1"}')
        else:
            said = self.answer
        return subprocess.CompletedProcess(command, 0 if said else 1, said, "")

    def _inspect(self, container: str) -> subprocess.CompletedProcess[str]:
        self.looks[container] += 1
        look = self.looks[container]
        if not self.reach(container, look):
            words = "Warning: something else\nConnection timed out\n"
            return subprocess.CompletedProcess([], UNREACHABLE, "", words)
        state = self.states.get(container, RUNNING)
        if not state:
            return subprocess.CompletedProcess([], 1, "", f"No such object: {container}\n")
        said = json.dumps({"state": state, "restarts": self.restarts(container, look)})
        return subprocess.CompletedProcess([], 0, said, "")


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """Return Docker on hosts where all is well, until the test changes it."""
    fake = FakeDocker()

    def run(
        target: SshTarget, *command: str, stdin: str = "", timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        return fake.run(target, *command, stdin=stdin, timeout=timeout)

    def run_watched(
        target: SshTarget, *command: str, watch: Callable[[], object], every: float
    ) -> subprocess.CompletedProcess[str]:
        return fake.run(target, *command, timeout=every)

    def start(target: SshTarget, *command: str) -> subprocess.Popen[str]:
        return fake.start(target, *command)

    monkeypatch.setattr(SshTarget, "run", run)
    monkeypatch.setattr(SshTarget, "start", start)
    monkeypatch.setattr(SshTarget, "run_watched", run_watched)
    monkeypatch.setattr(join, "POLL_SECONDS", 0)
    monkeypatch.setattr(ready, "POLL_SECONDS", 0)
    return fake
