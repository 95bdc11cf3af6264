"""Processes as a tree."""

import subprocess
import time

from lab import processes
from lab.processes import Process


def process(pid: int, parent: int, name: str = "python3", *command: str) -> Process:
    return Process(pid, parent, name, command, depth=1, innermost_pid=pid)


def test_descendants_are_all_below_and_nothing_else() -> None:
    tree = [process(10, 1), process(11, 10), process(12, 11), process(20, 1), process(21, 20)]
    assert {p.pid for p in processes.descendants(tree[0], tree)} == {11, 12}


def test_infrastructure() -> None:
    assert processes.is_infrastructure(process(1, 0, "dockerd", "dockerd"))
    assert not processes.is_infrastructure(process(1, 0, "ray::IDLE"))
    assert not processes.is_infrastructure(process(1, 0, "sh", "/bin/sh", "-c", "sleep 1"))


def test_a_killed_process_is_gone_when_kill_returns() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        began = time.monotonic()
        processes.kill([sleeper.pid])
        assert sleeper.pid not in {p.pid for p in processes.all_processes()}
        assert time.monotonic() - began < 5
