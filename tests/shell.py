"""What starts programs: this machine in the place of a host, connections, and interrupts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from tandem.ssh import SshTarget


CONNECTION = ("cat", "head", "sh")
"""What SshTarget runs on a host beside the command itself."""


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


_SSH = """\
for word; do SSH_HOST=$last; last=$word; done
export SSH_HOST
eval "exec $last"
"""


def host_here(folder: Path, monkeypatch: pytest.MonkeyPatch, tools: Sequence[str] = ()) -> Path:
    """Let `ssh` run its command here, with ``folder`` as home; return the folder of its programs.

    They find the host as it was asked for in SSH_HOST. Where ``tools`` are named, nothing else of
    this machine is on PATH but what every connection needs. As with sshd, a command goes on when
    its ``ssh`` is killed.
    """
    programs = folder / "bin"
    programs.mkdir()
    for tool in {*tools, *(CONNECTION if tools else ())}:
        (programs / tool).symlink_to(shutil.which(tool) or f"/bin/{tool}")
    program(programs / "ssh", _SSH)
    monkeypatch.setenv("PATH", str(programs) if tools else f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(folder))
    return programs


def hang_up(target: SshTarget) -> None:
    """Close the connection to a host that is kept for the next command, if there is one."""
    command = ["ssh", *target.all_options, "-O", "exit", target.destination]
    subprocess.run(command, capture_output=True, check=False)


def running_in(folder: Path) -> dict[int, str]:
    """Return the words of every process whose working directory is ``folder``, by its id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if Path(os.readlink(entry / "cwd")) == folder:
                    words = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(entry.name)] = words.decode(errors="replace").strip()
            except OSError:
                continue
    # A zombie has no words.
    return {pid: words for pid, words in found.items() if words}
