"""A command that runs only together with its like on other hosts; real processes on loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tandem.remote.generation import processes

HOSTS = "127.0.0.1,127.0.0.2,127.0.0.3"
QUICK = """
import sys
from pathlib import Path
from tandem.remote import generation
generation.POLL_SECONDS, generation.FRESH_SECONDS, generation.LOST_SECONDS = 0.1, 1.5, 2.0
generation.GRACE_SECONDS = 1.0
generation.REASON = Path(sys.argv[1])
generation.versions = lambda: sys.argv[2]
sys.exit(generation.main(sys.argv[3:]))
"""
SLEEP = ("sleep", "1000")


class Host:
    """The program of one host, with what it wrote."""

    def __init__(self, folder: Path, words: list[str], versions: str) -> None:
        self.reason = folder / "reason"
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", QUICK, str(self.reason), versions, *words],
                stderr=log,
                stdout=log,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def runs(self) -> bool:
        """Tell whether the command has started, and the program is there."""
        return "begins" in self.log and self.process.poll() is None

    def ends(self) -> int:
        return self.process.wait(timeout=30)

    def children(self) -> list[int]:
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]

    def has_command(self) -> bool:
        """Tell whether the command runs, and not yet the program that becomes it."""
        return any(
            Path(f"/proc/{pid}/comm").read_text().strip() in {"sleep", "sh"}
            for pid in self.children()
        )


class Site:
    """Starts programs of one group, and ends them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[Host] = []
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def start(
        self,
        number: int,
        *command: str,
        hosts: str = "127.0.0.1,127.0.0.2",
        group: str = "test-1",
        versions: str = "vLLM 1",
    ) -> Host:
        folder = self._folder / str(len(self._started))
        folder.mkdir()
        words = [f"--group={group}", f"--at=127.0.0.1:{self.port}", f"--hosts={hosts}"]
        words += [f"--number={number}", "--", *(command or SLEEP)]
        self._started.append(Host(folder, words, versions))
        return self._started[-1]

    def close(self) -> None:
        for host in self._started:
            with contextlib.suppress(ProcessLookupError):
                for pid in host.children() if host.process.poll() is None else ():
                    os.kill(pid, signal.SIGKILL)
            host.process.kill()
            host.process.wait()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def pair(site: Site, *command: str) -> tuple[Host, Host]:
    """Return two hosts whose commands run."""
    first, other = site.start(0, *command), site.start(1, *command)
    until(lambda: first.runs and other.runs and first.has_command() and other.has_command())
    return first, other


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_the_command_starts_when_all_are_there_in_any_order(
    site: Site, order: tuple[int, ...]
) -> None:
    hosts: list[Host] = []
    for number in order:
        time.sleep(0.3)
        assert not any(host.runs for host in hosts)
        hosts.append(site.start(number, hosts=HOSTS))
    until(lambda: all(host.runs for host in hosts))
    names = {host.log.partition("generation ")[2].split()[0] for host in hosts}
    assert len(names) == 1


def test_waiting_says_for_whom_and_has_no_end(site: Site) -> None:
    first = site.start(0, hosts=HOSTS)
    until(lambda: "waiting: 127.0.0.2, 127.0.0.3 to join test-1" in first.log)
    site.start(1, hosts=HOSTS)
    until(lambda: "waiting: 127.0.0.3 to join test-1" in first.log)
    time.sleep(2.5)
    assert first.process.poll() is None


@pytest.mark.parametrize("gone", [0, 1])
def test_a_host_that_dies_ends_the_other_ones_command(site: Site, gone: int) -> None:
    hosts = pair(site)
    os.kill(hosts[gone].process.pid, signal.SIGKILL)
    left = hosts[1 - gone]
    (command,) = left.children()
    assert left.ends() == 1
    assert not Path(f"/proc/{command}").exists()
    reason = left.reason.read_text()
    assert reason.startswith("the group is broken: ")
    assert ("127.0.0.2" if gone else "no first host for") in reason
    assert reason in left.log


@pytest.mark.parametrize("gone", [0, 1])
def test_a_host_that_starts_again_at_once_ends_the_other_one_and_both_begin_again(
    site: Site, gone: int
) -> None:
    hosts = pair(site)
    os.kill(hosts[gone].process.pid, signal.SIGKILL)
    again = site.start(gone)
    left = hosts[1 - gone]
    assert left.ends() == 1
    assert "has started again" in left.reason.read_text()
    assert "begins" not in again.log
    back = site.start(1 - gone)
    until(lambda: back.runs and again.runs)


@pytest.mark.parametrize("status", [0, 3])
@pytest.mark.parametrize("ends", [0, 1])
def test_a_command_that_ends_by_itself_ends_the_group(site: Site, ends: int, status: int) -> None:
    command = ("sh", "-c", f"sleep 1; exit {status}")
    hosts = [site.start(number, *(command if number == ends else SLEEP)) for number in (0, 1)]
    assert hosts[ends].ends() == status
    assert hosts[1 - ends].ends() == 1
    assert hosts[1 - ends].reason.read_text() == (
        f"the group is broken: 127.0.0.{ends + 1}: the command ended (status {status})"
    )


@pytest.mark.parametrize("frozen", [0, 1])
def test_a_command_that_is_stopped_ends_everywhere_and_is_killed(site: Site, frozen: int) -> None:
    hosts = pair(site)
    (command,) = hosts[frozen].children()
    os.kill(command, signal.SIGSTOP)
    assert [host.ends() for host in hosts] == [1, 1]
    assert all(f"process {command} (sleep) is stopped" in host.log for host in hosts)
    assert not Path(f"/proc/{command}").exists()


def test_a_command_that_was_stopped_for_a_moment_goes_on(site: Site) -> None:
    hosts = pair(site)
    (command,) = hosts[1].children()
    os.kill(command, signal.SIGSTOP)
    time.sleep(0.5)
    os.kill(command, signal.SIGCONT)
    time.sleep(2.5)
    assert all(host.runs for host in hosts)


def test_a_program_that_is_frozen_as_a_whole_is_noticed_by_the_others(site: Site) -> None:
    first, other = pair(site)
    os.kill(other.process.pid, signal.SIGSTOP)
    assert first.ends() == 1
    assert "nothing heard of 127.0.0.2" in first.reason.read_text()
    os.kill(other.process.pid, signal.SIGCONT)
    assert other.ends() == 1


def test_nothing_of_the_command_is_left_when_it_ignores_sigterm(site: Site) -> None:
    script = "trap '' TERM; sleep 1001 & sleep 1001; sleep 1001"
    first, other = pair(site, "sh", "-c", script)
    (command,) = first.children()
    os.kill(other.process.pid, signal.SIGKILL)
    assert first.ends() == 1
    assert {state for _, _, state in processes(command)} <= {"Z"}


def test_a_copy_of_a_host_neither_joins_nor_breaks_the_group(site: Site) -> None:
    hosts = pair(site)
    copy = site.start(1)
    until(lambda: "another program is 127.0.0.2 at this moment" in copy.log)
    time.sleep(2.5)
    assert all(host.runs for host in hosts)
    assert "begins" not in copy.log


def test_of_two_copies_of_a_host_one_joins(site: Site) -> None:
    first = site.start(0, hosts=HOSTS)
    copies = [site.start(1, hosts=HOSTS) for _ in range(2)]
    until(lambda: any("another program is" in copy.log for copy in copies))
    last = site.start(2, hosts=HOSTS)
    until(lambda: first.runs and last.runs and any(copy.runs for copy in copies))
    time.sleep(2.5)
    assert first.runs
    assert [copy.runs for copy in copies].count(True) == 1


def test_ranks_of_another_deployment_are_strangers(site: Site) -> None:
    first = site.start(0)
    stranger = site.start(1, group="test-2")
    until(lambda: f"127.0.0.1:{site.port} is of test-1, this is test-2" in stranger.log)
    assert "begins" not in first.log


def test_another_version_of_vllm_does_not_join_and_says_why(site: Site) -> None:
    first = site.start(0)
    other = site.start(1, versions="vLLM 2")
    until(lambda: "has vLLM 1, this image has vLLM 2" in other.log)
    assert "begins" not in first.log


def test_something_else_at_the_port_is_no_first_host(site: Site) -> None:
    with socket.create_server(("127.0.0.1", site.port)) as listener:
        other = site.start(1)
        connection, _ = listener.accept()
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.close()
        until(lambda: "something else answers" in other.log)


def test_a_port_that_is_taken_is_said(site: Site) -> None:
    with socket.create_server(("127.0.0.1", site.port)):
        first = site.start(0)
        assert first.ends() == 1
    assert f"can't listen at 127.0.0.1:{site.port}" in first.log


def test_whoever_talks_nonsense_to_the_first_host_changes_nothing(site: Site) -> None:
    hosts = pair(site)
    for text in (b"", b"[]\n", b"{}\n", b'{"group": "test-1", "host": "127.0.0.2"}\n', b"\xff\n"):
        with socket.create_connection(("127.0.0.1", site.port)) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            assert b"generation" not in connection.recv(4096)
    time.sleep(0.5)
    assert all(host.runs for host in hosts)


def test_a_stop_is_passed_on_and_the_others_end(site: Site) -> None:
    script = "trap 'exit 7' TERM; echo trapped; while :; do sleep 0.1; done"
    first, other = pair(site, "sh", "-c", script)
    until(lambda: "trapped" in first.log)
    first.process.terminate()
    assert first.ends() == 7
    assert other.ends() == 1


def test_a_stop_while_waiting_ends_at_once(site: Site) -> None:
    first = site.start(0)
    until(lambda: "waiting" in first.log)
    first.process.terminate()
    assert first.ends() == 128 + signal.SIGTERM


def test_a_program_that_the_image_lacks_is_named(site: Site) -> None:
    first, other = site.start(0, "no-such-program"), site.start(1)
    assert first.ends() == 127
    assert "the image has no program no-such-program" in first.log
    assert other.ends() == 1
