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
