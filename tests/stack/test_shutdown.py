"""The Pulumi program when the engine interrupts it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.project import ROOT
from tests.shell import running_in

PROGRAM = f"""
import subprocess, sys
sys.path.insert(0, {str(ROOT)!r})
from components import end_quietly_when_stopped
end_quietly_when_stopped()
subprocess.run(["sh", "-c", "touch begun; sleep 600; true"])
"""


def test_an_interrupted_look_at_the_hosts_leaves_no_connection(tmp_path: Path) -> None:
    pipe, words = subprocess.PIPE, [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=pipe, stderr=pipe, process_group=0
    ) as process:
        deadline = time.monotonic() + 20
        while not (tmp_path / "begun").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=5) == (b"", b"")
        assert process.returncode == 128 + signal.SIGINT
    assert running_in(tmp_path) == {}


def ended(program: str) -> tuple[int, str]:
    """Run a program that has prepared for its end; return its status and what it says."""
    prepared = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from components import end_quietly_when_stopped; import pulumi\n"
        f"end_quietly_when_stopped()\n{program}"
    )
    words = [sys.executable, "-c", prepared]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def test_what_the_engine_has_said_already_is_not_said_again() -> None:
    assert ended("raise pulumi.RunError('the engine went')") == (1, "")


def test_any_other_exception_is_printed() -> None:
    status, said = ended("raise ValueError('a bug')")
    assert (status, said.splitlines()[-1]) == (1, "ValueError: a bug")
    assert said.startswith("Traceback")
