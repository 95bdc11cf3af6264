"""A gate ends with whoever started it, as Pulumi's plugin starts and ends it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.project import ROOT
from tests.shell import host_here, running_in

GATE = """
from concurrent.futures import ThreadPoolExecutor
from tandem.gates.run import run_gate
from tandem.ssh import SshTarget

def ask(number):
    return SshTarget("host").run("sh", "-c", f"touch asked-{number}; sleep 600; true", timeout=600)

def work(text):
    with ThreadPoolExecutor() as pool:
        return list(pool.map(ask, range(2)))

if __name__ == "__main__":
    run_gate(work)
"""
SHELLS = pytest.mark.parametrize("shell", [["/bin/sh"], ["/bin/dash"], ["/bin/bash"]])
Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Return what starts a gate as the plugin does; it asks two hosts that do not answer."""
    host_here(tmp_path, monkeypatch)
    (tmp_path / "slow.py").write_text(GATE)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    started = []

    def begin(shell: list[str], command: str = "python3 -m slow") -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        words = [*shell, "-c", command]
        process = subprocess.Popen(words, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe)
        started.append(process)
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        return process

    yield begin
    for pid in running_in(tmp_path):
        os.kill(pid, signal.SIGKILL)
    for process in started:
        process.communicate()


def until_asked(folder: Path) -> None:
    deadline = time.monotonic() + 20
    while len(list(folder.glob("asked-*"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def until_nothing_runs(folder: Path, seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while left := running_in(folder):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


@SHELLS
def test_a_gate_whose_parent_is_killed_lets_go_of_the_pipes_and_leaves_nothing(
    start: Start, shell: list[str], tmp_path: Path
) -> None:
    process = start(shell)
    until_asked(tmp_path)
    process.kill()
    output, said = process.communicate(timeout=5)
    assert (output, said) == (b"", b"")
    until_nothing_runs(tmp_path)


def test_a_parent_that_was_killed_before_the_gate_was_there_counts_as_gone(
    start: Start, tmp_path: Path
) -> None:
    start(["/bin/sh"], "(sleep 0.2; exec python3 -m slow) & exit").communicate(timeout=8)
    until_nothing_runs(tmp_path)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_gate_that_is_stopped_leaves_without_a_traceback(
    start: Start, stop: signal.Signals, tmp_path: Path
) -> None:
    process = start(["/bin/bash"])
    until_asked(tmp_path)
    process.send_signal(stop)
    assert process.communicate(timeout=5) == (b"", b"")
    assert process.returncode in (128 + stop, -signal.SIGALRM)
    until_nothing_runs(tmp_path)


def test_a_gate_ends_although_its_connection_does_not(start: Start, tmp_path: Path) -> None:
    (tmp_path / "bin" / "ssh").write_text(
        "#!/bin/sh\ntrap '' TERM\ntouch asked-$$\nwhile :; do sleep 0.1; done\n"
    )
    process = start(["/bin/sh"])
    until_asked(tmp_path)
    process.kill()
    process.communicate(timeout=5)
    until_nothing_runs(tmp_path)


def test_a_gate_that_is_done_leaves_nothing_either(start: Start, tmp_path: Path) -> None:
    (tmp_path / "bin" / "ssh").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "slow.py").write_text(GATE.replace("pool.map(ask, range(2))", "[1]"))
    process = start(["/bin/sh"])
    output, said = process.communicate(timeout=10)
    assert (output, said, process.returncode) == (b"[1]\n", b"", 0)
    assert running_in(tmp_path) == {}
