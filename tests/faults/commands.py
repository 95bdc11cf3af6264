"""Commands of the operator that can be watched and disturbed while they run."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from lab import processes
from tests.project import ROOT, Run

if TYPE_CHECKING:
    from lab import Process
    from tests.faults.matrix import Command
    from tests.project import Project

_PULUMI = ("pulumi", "--non-interactive", "--color=never")
WORDS: dict[str, tuple[str, ...]] = {
    "preview": (*_PULUMI, "preview"),
    "up": (*_PULUMI, "up", "--yes", "--skip-preview"),
    "refresh": (*_PULUMI, "refresh", "--yes", "--skip-preview"),
    "destroy": (*_PULUMI, "destroy", "--yes", "--skip-preview"),
    "drift": ("python", "-m", "tandem", "drift"),
}


class Started:
    """A command that runs, in a session of its own as from a terminal of its own."""

    def __init__(self, project: Project, command: Command, *more: str) -> None:
        stack = (project.stack,) if command == "drift" else ()
        self._process = subprocess.Popen(
            [ROOT / "tools" / "run", *WORDS[command], *stack, *more],
            cwd=project.folder,
            env=project.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._lines: list[str] = []
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        """Return what it has said until now."""
        return "".join(self._lines)

    def wait_for(self, words: str, seconds: float = 90) -> None:
        """Wait until it has said the words. Raises AssertionError when it ends without them."""
        deadline = time.monotonic() + seconds
        while words not in self.text:
            ended = self._process.poll() is not None and not self._reader.is_alive()
            assert not ended, f"it ended before it said {words!r}:\n{self.text}"
            assert time.monotonic() < deadline, f"it did not say {words!r}:\n{self.text}"
            time.sleep(0.05)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the command itself, not to what it has started."""
        self._process.send_signal(number)

    def end(self, seconds: float) -> Run:
        """Wait for its end. Raises AssertionError when it takes longer."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            raise AssertionError(f"no end after {seconds:.0f} s:\n{self.text}") from None
        # What a killed command has started may hold its output open.
        self._reader.join(5)
        return Run(code, self.text)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                self._lines.append(line)


def left_behind(folder: Path) -> list[Process]:
    """Return what still runs on the operator's machine with a folder as its working directory.

    Connections that ssh keeps open for a minute are left out, and what is Pulumi's own.
    """
    return [one for one in _running(folder) if not _is_kept(one) and not _is_pulumis(one)]


def pulumis_own(folder: Path) -> list[Process]:
    """Return the programs of Pulumi that run in a folder, with their connections to Docker."""
    return [one for one in _running(folder) if _is_pulumis(one)]


def asks(folder: Path, program: str) -> bool:
    """Tell whether a program, such as ``tandem.gates.join``, runs in a folder and asks a host."""
    found = _running(folder)
    programs = {one.pid for one in found if program in str(one)}
    return any(one.name == "ssh" and one.parent in programs for one in found)


def _running(folder: Path) -> list[Process]:
    found = []
    for process in processes.all_processes():
        with suppress(OSError):
            if Path(os.readlink(f"/proc/{process.pid}/cwd")) == folder:
                found.append(process)
    return found


def _is_kept(process: Process) -> bool:
    # Its title is as long as its command line was.
    return process.name == "ssh" and "[mux]" in str(process)


def _is_pulumis(process: Process) -> bool:
    """Tell whether it is the engine, a plugin, the program that it runs, or a plugin's ssh."""
    to_docker = process.name == "ssh" and process.command[-1].endswith("docker system dial-stdio")
    return to_docker or process.name.startswith("pulumi") or "/pulumi-" in str(process)
