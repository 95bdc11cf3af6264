"""What starts programs: this machine in the place of a host, connections, and interrupts."""

from __future__ import annotations

import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from tandem.ssh import SshTarget


def heed_interrupts() -> None:
    """Let SIGINT end this program, and all that it starts.

    A job in the background ignores it, and so would its children: some tests interrupt them, and
    Pulumi's engine waits 5 s at the end of every command for a language host that does not heed it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def program(path: Path, text: str) -> None:
    """Write a shell script that can be run."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def host_here(folder: Path, monkeypatch: pytest.MonkeyPatch, tools: Sequence[str] = ()) -> Path:
    """Let `ssh` run its command here, with ``folder`` as home; return the folder of its programs.

    Where ``tools`` are named, nothing else of this machine is on PATH.
    """
    programs = folder / "bin"
    programs.mkdir()
    for tool in tools:
        (programs / tool).symlink_to(shutil.which(tool) or f"/bin/{tool}")
    program(programs / "ssh", 'for last; do :; done\nexec sh -c "$last"')
    monkeypatch.setenv("PATH", str(programs) if tools else f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(folder))
    return programs


def hang_up(target: SshTarget) -> None:
    """Close the connection to a host that is kept for the next command, if there is one."""
    command = ["ssh", *target.all_options, "-O", "exit", target.destination]
    subprocess.run(command, capture_output=True, check=False)
