"""Docker's restart policy and the program around a container's command, on a real dockerd."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab import Lab
from lab.host import Host
from tandem.remote import supervise

NAME = "restarts-test"
LIMIT = 2
CRASHES = "import time; time.sleep(0.2); raise SystemExit(3)"
WORKS = "import time; print('works', flush=True); time.sleep(600)"


@dataclass(frozen=True)
class Container:
    """A container with the policy, init and program of Tandem's own, beside a bystander."""

    lab: Lab
    host: Host

    def start(self, program: str) -> None:
        """Start a Python program in it."""
        words = f"python3 /tandem/supervise.py --limit={LIMIT} --window=600 -- python3 -c".split()
        options = f"--name {NAME} --restart on-failure --init --entrypoint {words[0]}"
        command = shlex.join([*words[1:], program])
        self.docker(f"create {options} {self.lab.image} {command}")
        self.host.put(Path(supervise.__file__), "/tmp/tandem")
        self.docker(f"cp /tmp/tandem {NAME}:/")
        self.docker(f"start {NAME}")

    def docker(self, words: str) -> str:
        """Run a command of Docker."""
        done = self.host.ssh(f"docker {words}")
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def state(self) -> dict[str, Any]:
        """Return Docker's state of it."""
        state: dict[str, Any] = json.loads(self.docker(f"inspect -f '{{{{json .State}}}}' {NAME}"))
        return state

    def log(self) -> list[str]:
        """Return its log."""
        return self.docker(f"logs {NAME}").splitlines()

    def restart_docker(self) -> None:
        """Restart dockerd as its service does: with SIGTERM."""
        self.lab.stop_docker(self.host)
        self.lab.start_docker(self.host)

    def wait(self, holds: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, (self.state(), self.log())
            time.sleep(0.3)

    def wait_for_start(self, number: int = 1) -> None:
        """Wait until the command works for the nth time.

        Docker calls a container running while its first process is still being loaded.
        """
        self.wait(lambda: self.log().count("works") >= number)

    def stays(self, status: str, seconds: float = 5) -> None:
        """Assert that its status is and remains so."""
        for _ in range(int(seconds)):
            assert self.state()["Status"] == status
            time.sleep(1)


@pytest.fixture
def container(hosts: Lab) -> Iterator[Container]:
    host = hosts.hosts[0]
    pulled = host.ssh(f"docker pull --quiet {hosts.image}", timeout=600)
    assert pulled.returncode == 0, pulled.stderr
    yield Container(hosts, host)
    host.ssh(f"docker rm -f {NAME}")


def test_a_crash_loop_ends_after_the_limit_and_the_last_line_says_why(container: Container) -> None:
    container.start(CRASHES)
    container.wait(lambda: container.state()["Status"] == "exited")
    assert container.state()["ExitCode"] == 0
    assert "stays down after 2 restarts within 10 min" in container.log()[-1]
    assert container.log().count("tandem: the command ended: exit status 3") == LIMIT + 1


def test_what_gave_up_stays_down_when_docker_restarts_and_after_a_power_cut(
    container: Container,
) -> None:
    container.start(CRASHES)
    container.wait(lambda: container.state()["Status"] == "exited")
    container.restart_docker()
    container.stays("exited")
    container.lab.power_cut(container.host)
    container.stays("exited")
    assert "stays down" in container.log()[-1]


def test_within_the_limit_it_comes_back_when_docker_restarts_and_after_a_power_cut(
    container: Container,
) -> None:
    container.start(WORKS)
    container.wait_for_start()
    container.restart_docker()
    container.wait_for_start(2)
    assert "tandem: the command ended: stopped by signal 15 (signal 15)" in container.log()
    container.lab.power_cut(container.host)
    container.wait_for_start(3)
    container.stays("running", 3)


def test_more_power_cuts_than_the_limit_leave_it_down_and_say_so(container: Container) -> None:
    container.start(WORKS)
    for number in range(LIMIT + 1):
        container.wait_for_start(number + 1)
        container.lab.power_cut(container.host)
    container.wait(lambda: container.state()["Status"] == "exited")
    assert "its host lost power" in container.log()[-1]


@pytest.mark.parametrize("by_hand", ["stop", "kill"])
def test_what_was_stopped_by_hand_stays_down_until_docker_starts_again(
    by_hand: str, container: Container
) -> None:
    container.start(WORKS)
    container.wait_for_start()
    container.docker(f"{by_hand} {NAME}")
    container.stays("exited", 3)
    container.restart_docker()
    container.wait_for_start(2)


def test_a_container_that_is_killed_by_the_kernel_comes_back(container: Container) -> None:
    container.start(WORKS)
    container.wait_for_start()
    container.host.ssh(f"kill -9 {container.state()['Pid']}")
    container.wait_for_start(2)
