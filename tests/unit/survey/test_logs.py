"""Logs: ssh, the script in a real shell with a stand-in of Docker, what is read of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tandem.survey.logs import HostLogs, host_logs, read_host_logs
from tests.builders import settings
from tests.shell import host_here, program

TOOLS = ("sh", "cat", "date", "ls", "mkdir", "sed", "sleep", "tail", "timeout", "tr")
AT = "2026-11-30T12:14:48.282000000Z"

DOCKER = """
case "$*" in
ps*) echo tandem-test-host-1-server server ;;
logs*) echo "$@" >"$HOME/asked"
       printf '2026-11-30T12:14:48.282000000Z load 1%%\\rload 9%%\\rload 100%%\\r\\n'
       printf '2026-11-30T12:14:49.000000000Z \\033[32mgreen\\033[0m\\ta tab\\n' >&2 ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let `ssh` run its command here, with few tools on PATH; return the home there."""
    program(host_here(tmp_path, monkeypatch, TOOLS) / "docker", DOCKER)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return tmp_path


def read(what: Any = "now", lines: int | None = None, since: str = "") -> HostLogs:
    return read_host_logs(settings().hosts[0], "test", what, lines, since)


def keep(folder: Path, name: str, when: str, text: str, **record: Any) -> None:
    """Keep a log as a host does before its container goes."""
    place = folder / "tandem/test" / name
    place.mkdir(parents=True, exist_ok=True)
    said = {"container": name, "host": "host-1", "role": "server", **record}
    (place / f"{when}.json").write_text(json.dumps(said, indent=1))
    (place / f"{when}.log").write_text(text)


def test_both_streams_are_read_and_a_progress_bar_shows_its_last_state(machine: Path) -> None:
    (log,) = read().logs
    assert (log.host, log.container, log.role) == ("host-1", "tandem-test-host-1-server", "server")
    assert [line.text for line in log.lines] == ["load 100%", "\033[32mgreen\033[0m\ta tab"]
    assert log.lines[0].time == AT


def test_the_hosts_clock_is_read_with_its_logs(machine: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    assert before <= datetime.fromisoformat(read().now) <= datetime.now(UTC)
    assert read("kept").now


def test_docker_is_asked_for_so_many_lines_and_from_when_on(machine: Path) -> None:
    read(lines=7, since="600s")
    asked = (machine / "asked").read_text().split()
    assert asked == [
        *("logs", "--timestamps", "--tail", "7", "--since", "600s"),
        "tandem-test-host-1-server",
    ]
    read()
    assert "--tail all" in (machine / "asked").read_text()
    assert "--since" not in (machine / "asked").read_text()


def test_docker_that_does_not_answer_is_a_problem(machine: Path) -> None:
    program(machine / "bin/docker", "exit 1")
    assert read().problem == "Docker does not answer"


def test_a_host_that_ssh_can_not_reach_has_its_words(machine: Path) -> None:
    program(machine / "bin/ssh", "echo 'Connection refused' >&2\nexit 255")
    assert read().problem == "Connection refused"


def test_a_login_shell_that_runs_nothing_is_a_problem(machine: Path) -> None:
    program(machine / "bin/ssh", "echo This account is currently not available.")
    assert read().problem == "the host did not run the look's shell script"


def test_a_host_where_nothing_was_kept_has_nothing(machine: Path) -> None:
    found = read("kept")
    assert (found.problem, found.logs) == (None, ())


def test_the_newest_that_was_kept_of_each_container_is_read(machine: Path) -> None:
    state = machine / ".local/state"
    keep(state, "tandem-test-host-1-server", "20261130T110000Z", f"{AT} old\n", exitCode=1)
    keep(
        state,
        "tandem-test-host-1-server",
        "20261130T120000Z",
        f"{AT} one\n{AT} two\n{AT} a\rthree\n",
        reason="gave-up:ready",
        exitCode=137,
        oomKilled=True,
        restarts=3,
        startedAt="2026-11-30T11:00:00Z",
    )
    (log,) = read("kept", 2).logs
    assert [line.text for line in log.lines] == ["two", "three"]
    assert log.role == "server"
    record = log.record
    assert record is not None
    assert (record.reason, record.exit_code, record.oom_killed) == ("gave-up:ready", 137, True)
    assert (record.restarts, record.started_at) == (3, "2026-11-30T11:00:00Z")
    assert len(read("kept").logs[0].lines) == 3


def test_what_was_kept_is_found_where_the_host_keeps_state(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(machine / "elsewhere"))
    keep(machine / "elsewhere", "a", "20261130T110000Z", "")
    (log,) = read("kept").logs
    assert (log.container, log.lines) == ("a", ())


def test_a_record_that_can_not_be_read_leaves_the_log(machine: Path) -> None:
    keep(machine / ".local/state", "a", "20261130T110000Z", f"{AT} one\n")
    (machine / ".local/state/tandem/test/a/20261130T110000Z.json").write_text("{")
    (log,) = read("kept").logs
    assert log.record is not None and log.record.reason is None
    assert [line.text for line in log.lines] == ["one"]


def test_a_line_of_dockers_own_has_the_time_of_the_one_before() -> None:
    printed = f"now\t2026-11-30T12:00:00Z\nlog\ta\tserver\t{AT} one\nlog\ta\tserver\tError: odd\n"
    (log,) = host_logs("host-1", printed).logs
    assert [(line.time, line.text) for line in log.lines] == [(AT, "one"), (AT, "Error: odd")]


def test_an_empty_line_is_a_line() -> None:
    (log,) = host_logs("host-1", f"log\ta\tserver\t{AT} \nlog\ta\tserver\t{AT} x\x0by\n").logs
    assert [line.text for line in log.lines] == ["", "x\x0by"]
