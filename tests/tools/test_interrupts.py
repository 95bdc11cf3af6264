"""A gate under the real engine and the installed command plugin ends when Pulumi does.

The plugin kills the command's direct child and nothing else; the rest is the gate's own doing.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.shell import program, running_in
from tests.tools.stack import SECONDS, Stack
from tools.layout import HERE

GATE = """\
from tandem.gates.run import run_gate
from tandem.ssh import SshTarget

run_gate(lambda spec: SshTarget("host").run("sleep", "300").stdout)
"""
COMMAND = "python3 -m waiting_gate"

LIMIT = 5
"""How long anything may run on, in seconds."""

PLUGINS = {"pulumi-language-python", "pulumi-resource-command"}
"""What stays after a SIGKILL of Pulumi."""

FORMS: dict[str, dict[str, object]] = {
    "sh": {},  # dash waits for the gate as its parent
    "bash": {"interpreter": ["/bin/bash", "-c"]},  # becomes the gate
}


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """Return a project that has a gate of its own, for a host that is silent."""
    program(tmp_path / "ssh", "sleep 300; exit 255")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", str(HERE.root))
    (tmp_path / "waiting_gate.py").write_text(GATE)
    return Stack(tmp_path)


def within(seconds: float, what: str, holds: Callable[[], object]) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)


def programs(folder: Path) -> set[str]:
    """Return the names of all programs that run in the folder."""
    return {Path(words.split()[0]).name for words in running_in(folder).values()}


@contextmanager
def waiting(stack: Stack, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run pulumi until its gate waits; end what is left of it after the block."""
    process = stack.start(*arguments, "--yes", "--skip-preview")
    try:
        within(
            SECONDS,
            "the gate waits for its host",
            lambda: "sleep 300" in running_in(stack.folder).values(),
        )
        yield process
    finally:
        for pid in running_in(stack.folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=SECONDS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", ["up", "destroy"])
def test_ctrl_c_ends_pulumi_and_its_gate(verb: str, form: str, stack: Stack) -> None:
    if verb == "up":
        stack.declare(command={"create": COMMAND, **FORMS[form]})
    else:
        stack.declare(command={"create": "true", "delete": COMMAND, **FORMS[form]})
        stack.up()
    with waiting(stack, verb) as process:
        # As a terminal does: to all that is in the foreground.
        os.killpg(process.pid, signal.SIGINT)
        within(LIMIT, "all has ended", lambda: not running_in(stack.folder))
        assert process.wait() > 0


@pytest.mark.parametrize("form", FORMS)
def test_a_killed_pulumi_leaves_its_plugins_and_nothing_else(form: str, stack: Stack) -> None:
    stack.declare(command={"create": COMMAND, **FORMS[form]})
    with waiting(stack, "up") as process:
        process.kill()
        within(LIMIT, "the gate has ended", lambda: programs(stack.folder) <= PLUGINS)
        assert programs(stack.folder) == PLUGINS
