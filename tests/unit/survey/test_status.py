"""A look at running containers: ssh, the script in a real shell, what is read of it.

The shell is this machine's own; Docker is a stand-in that answers as Docker 20.10 does.
"""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest

from tandem.ssh import SshTarget
from tandem.survey.status import SECTIONS, HostStatus, look_at_status, read_status
from tests.builders import settings
from tests.shell import host_here, program

TOOLS = ("sh", "cat", "cut", "date", "grep", "mkdir", "sed", "sleep", "tail", "timeout", "tr")

INSPECTED = {
    "name": "/tandem-test-host-1-server",
    "role": "server",
    "state": "running",
    "health": None,
    "exit_code": 0,
    "oom_killed": False,
    "error": "",
    "started": "2026-11-30T12:14:48.123456789Z",
    "finished": "0001-01-01T00:00:00Z",
    "restarts": 2,
    "image": "sha256:" + "b" * 64,
}

PRINTED = """
@@now
1796040988

@@memory
MemTotal:       24684096 kB
MemAvailable:   22293580 kB

@@containers
{rows}

@@server
{server}

@@ended
"""

DOCKER = """
case "$*" in
ps*) echo abc ;;
inspect*) printf '%s\\t%s\\t%s\\t%s\\n' abc {pid} {state} '{facts}' ;;
logs*) printf 'a bar 1%%\\rgave up: the\\treason\\r\\n' ;;
exec*) echo '{{"problem": null, "samples": [{{"at": 5.0, "running": 1.0}}]}}' ;;
esac
"""


def row(**changes: object) -> str:
    """Return a container as the script prints it, with a megabyte of idle file cache."""
    facts = json.dumps({**INSPECTED, **changes})
    return f"abc\t3145728 1048576\t\t{facts}"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let `ssh` run its command here, with few tools on PATH; return their folder."""
    return host_here(tmp_path, monkeypatch, TOOLS)


def look() -> HostStatus:
    """Return what a look at a single host finds."""
    (host,) = look_at_status(settings(), "test", "tandem-test-host-1-server", "http://a:1", 1)
    return host


def printed() -> str:
    """Return what the script prints on a host whose Docker answers as the test made it."""
    script = resources.files("tandem.survey").joinpath("status.sh").read_text()
    words = ("sh", "-s", "--", "test", "tandem-test-host-1-server", "python3")
    return SshTarget("host").run(*words, stdin=script).stdout


def titles(text: str) -> list[str]:
    return re.findall("^@@(.*)$", text, re.MULTILINE)


def test_the_script_prints_exactly_the_sections_that_are_read(machine: Path) -> None:
    facts = row().split("\t")[3]
    program(machine / "docker", DOCKER.format(pid="self", state="running", facts=facts))
    whole = printed()
    assert titles(whole) == [title for title in SECTIONS if title != "problem"]
    for title in titles(whole):
        without = re.sub(f"(?s)(\n@@{title}\n).+?(?=\n@@|$)", r"\1", whole)
        assert title == "ended" or read_status("a", without) != read_status("a", whole)
    program(machine / "docker", "echo Cannot connect >&2; exit 1")
    assert titles(printed()) == ["now", "memory", "problem", "ended"]


def test_what_the_script_prints_of_a_running_container_is_read(machine: Path) -> None:
    program(
        machine / "docker", DOCKER.format(pid="self", state="running", facts=row().split("\t")[3])
    )
    host = look()
    (container,) = host.containers
    assert host.problem is None
    assert (container.name, container.state, container.restarts) == (
        "tandem-test-host-1-server",
        "running",
        2,
    )
    assert container.last_line == ""
    assert host.memory is not None and host.memory.available > 0
    assert host.server is not None and host.server.samples[0].running == 1


def test_of_a_container_that_ended_the_last_state_of_the_last_line_is_read(machine: Path) -> None:
    ended = row(state="exited", finished="2026-11-30T12:15:00Z").split("\t")[3]
    program(machine / "docker", DOCKER.format(pid=0, state="exited", facts=ended))
    (container,) = look().containers
    assert container.last_line == "gave up: the reason"
    assert container.memory is None


def test_without_docker_the_hosts_memory_is_still_seen(machine: Path) -> None:
    program(machine / "docker", "echo Cannot connect to the Docker daemon >&2\nexit 1")
    host = look()
    assert host.problem == "Cannot connect to the Docker daemon"
    assert host.memory is not None
    assert host.containers == ()


def test_a_host_that_ssh_can_not_reach_has_its_words(machine: Path) -> None:
    program(
        machine / "ssh", "echo 'ssh: connect to host a port 22: No route to host' >&2\nexit 255"
    )
    assert look().problem == "ssh: connect to host a port 22: No route to host"


def test_a_retired_host_is_not_asked(machine: Path) -> None:
    program(machine / "ssh", "exit 9")
    hosts = look_at_status(settings(2, {"hosts.1.retired": True}), "test", "server", "http://a", 1)
    assert [host.skipped for host in hosts] == [False, True]
    assert hosts[1].problem is None


def test_a_host_that_is_silent_is_given_up(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(machine / "docker", "exec sleep 5")
    monkeypatch.setattr("tandem.survey.status.TIMEOUT_SECONDS", 1)
    assert look().problem == "no answer within 1 s"


def test_memory_is_without_idle_file_cache_and_time_is_the_hosts() -> None:
    host = read_status("host-1", PRINTED.format(rows=row(), server=""))
    (container,) = host.containers
    assert container.memory == 2 * 1024 * 1024
    assert container.seconds == 100
    assert host.server is None


def test_time_counts_from_the_end_when_it_does_not_run_and_from_nothing_when_it_never_did() -> None:
    rows = [row(state="exited", finished="2026-11-30T12:16:18Z"), row(state="created")]
    host = read_status("host-1", PRINTED.format(rows="\n".join(rows), server=""))
    assert [container.seconds for container in host.containers] == [10, None]


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("no answer within 9 s", "no answer within 9 s"),
        ("Error: No such container: a", "Error: No such container: a"),
        ("WARNING: old\nOCI runtime exec failed", "OCI runtime exec failed"),
    ],
)
def test_a_server_that_can_not_be_asked_says_why(said: str, problem: str) -> None:
    server = read_status("host-1", PRINTED.format(rows="", server=said)).server
    assert server is not None and server.problem == problem


def test_a_login_shell_that_runs_nothing_is_a_problem() -> None:
    found = read_status("host-1", "This account is currently not available.\n")
    assert found.problem == "the host did not run the look's shell script"
