"""Processes of lab hosts, read from /proc."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError

_KILL_SECONDS = 20.0
_INFRASTRUCTURE = {
    "containerd",
    "containerd-shim",
    "containerd-shim-runc-v2",
    "docker-proxy",
    "dockerd",
    "runc",
    "sshd",
}


@dataclass(frozen=True)
class Process:
    """One process as the machine sees it."""

    pid: int
    parent: int
    name: str
    command: tuple[str, ...]
    depth: int  # PID namespaces below the machine's own
    innermost_pid: int

    @property
    def is_init(self) -> bool:
        """Whether it is PID 1 of a namespace directly below the machine's."""
        return self.depth == 1 and self.innermost_pid == 1

    def __str__(self) -> str:
        return f"{self.pid} {' '.join(self.command) or self.name}"


def all_processes() -> list[Process]:
    """Return every process of the machine."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (process := _read(folder)):
            found.append(process)
    return found


def descendants(root: Process, processes: list[Process]) -> list[Process]:
    """Return all processes below one, in no order."""
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    waiting = [root.pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.extend(below)
        waiting.extend(process.pid for process in below)
    return found


def is_infrastructure(process: Process) -> bool:
    """Tell whether a host runs this process by itself: sshd, dockerd and what belongs to them."""
    own_script = process.command[:2] == ("/bin/sh", "/usr/local/sbin/lab-services")
    return process.name in _INFRASTRUCTURE or own_script


def kill(pids: list[int]) -> None:
    """Kill processes and wait until they are gone.

    Raises LabError when one is still there after 20 seconds.
    """
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    deadline = time.monotonic() + _KILL_SECONDS
    for pid in pids:
        while process := _read(Path("/proc", str(pid))):
            if time.monotonic() > deadline:
                raise LabError(f"process {process} did not end within {_KILL_SECONDS:.0f} s")
            time.sleep(0.02)


def _read(folder: Path) -> Process | None:
    """The process of a /proc folder; None when it has ended, zombies included."""
    try:
        fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        arguments = (folder / "cmdline").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    if fields["State"].split()[0] in "ZX":
        return None
    pids = fields["NSpid"].split()
    return Process(
        pid=int(folder.name),
        parent=int(fields["PPid"]),
        # The kernel cuts names at 15 characters; the program's path has the whole.
        name=_program(arguments) if len(fields["Name"].strip()) >= 15 else fields["Name"].strip(),
        command=tuple(arguments.split("\0")[:-1]),
        depth=len(pids) - 1,
        innermost_pid=int(pids[-1]),
    )


def _program(arguments: str) -> str:
    return Path(arguments.split("\0")[0]).name
