"""``python -m tandem logs``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tandem.cli import logs
from tandem.cli.main import main
from tandem.survey.logs import ContainerLog, HostLogs, KeptRecord, LogLine
from tests.builders import config
from tests.shell import program

RECORD = KeptRecord.model_validate(
    {
        "role": "server",
        "reason": "gave-up:ready",
        "kept": "2026-11-30T12:20:00Z",
        "status": "exited",
        "exitCode": 137,
        "oomKilled": True,
        "restarts": 2,
        "startedAt": "2026-11-30T12:00:00.5Z",
        "finishedAt": "2026-11-30T12:10:00.5Z",
        "image": "sha256:b",
        "error": "",
    }
)


@pytest.fixture
def stack_file(tmp_path: Path) -> str:
    """Write a stack file with two hosts; Pulumi reads JSON as YAML, too."""
    path = tmp_path / "Pulumi.pair.yaml"
    path.write_text(
        json.dumps({"config": {f"tandem:{key}": value for key, value in config(2).items()}})
    )
    return str(path)


def wrote(host: str, role: str, *lines: tuple[int, str], record: Any = None) -> HostLogs:
    """Return a host whose one container wrote these lines in these seconds."""
    log = ContainerLog(
        host=host,
        container=f"tandem-pair-{host}-{role}",
        role=role,
        record=record,
        lines=tuple(
            LogLine(time=f"2026-11-30T12:00:{second:02}.000000000Z", text=text)
            for second, text in lines
        ),
    )
    return HostLogs(name=host, now="2026-11-30T12:00:30Z", logs=(log,))


def hosts(monkeypatch: pytest.MonkeyPatch, *found: HostLogs) -> list[tuple[Any, ...]]:
    """Let the hosts say this; return what they are asked: what, lines, since."""
    asked: list[tuple[Any, ...]] = []

    def read(chosen: Any, stack: str, *question: Any) -> tuple[HostLogs, ...]:
        asked.append(question)
        names = [host.name for host in chosen]
        return tuple(host for host in found if host.name in names)

    monkeypatch.setattr(logs, "read_logs", read)
    return asked


BOTH = (
    wrote("host-1", "server", (1, "\033[31mfirst\033[0m"), (3, "third")),
    wrote("host-2", "worker", (2, "second"), (4, "")),
)


def test_lines_of_all_hosts_are_merged_by_time_and_aligned(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = hosts(monkeypatch, *BOTH)
    assert main(["logs", stack_file]) == 0
    assert asked == [("now", logs.LINES, "")]
    assert capsys.readouterr().out.splitlines() == [
        "host-1  server  2026-11-30 12:00:01.000  first",
        "host-2  worker  2026-11-30 12:00:02.000  second",
        "host-1  server  2026-11-30 12:00:03.000  third",
        "host-2  worker  2026-11-30 12:00:04.000",
    ]


def test_a_terminal_keeps_its_colours(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts(monkeypatch, *BOTH)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    main(["logs", stack_file])
    assert "\033[31mfirst" in capsys.readouterr().out


def test_the_order_of_a_container_stays_when_its_clock_jumps_back(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts(monkeypatch, wrote("host-1", "server", (9, "before"), (1, "after")))
    main(["logs", stack_file])
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()] == [
        "before",
        "after",
    ]


@pytest.mark.parametrize(
    ("words", "role"), [(["--host", "host-2"], "worker"), (["--role", "server"], "server")]
)
def test_one_host_or_one_role_can_be_chosen(
    words: list[str],
    role: str,
    stack_file: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hosts(monkeypatch, *BOTH)
    assert main(["logs", stack_file, *words]) == 0
    assert {line.split()[1] for line in capsys.readouterr().out.splitlines()} == {role}


def test_a_retired_host_is_asked_only_by_name(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(stack_file)
    data = json.loads(path.read_text())
    data["config"]["tandem:hosts"][1]["retired"] = True
    path.write_text(json.dumps(data))
    hosts(monkeypatch, *BOTH)
    for words, host in ([], "host-1"), (["--host", "host-2"], "host-2"):
        assert main(["logs", stack_file, *words]) == 0
        assert {line.split()[0] for line in capsys.readouterr().out.splitlines()} == {host}


def test_with_a_time_all_lines_since_then_are_asked_for(
    stack_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = hosts(monkeypatch, *BOTH)
    main(["logs", stack_file, "--since", "10m"])
    main(["logs", stack_file, "--since", "10m", "--lines", "5"])
    assert asked == [("now", None, "600s"), ("now", 5, "600s")]


def test_a_host_that_does_not_answer_is_one_line_and_the_rest_is_shown(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts(monkeypatch, HostLogs(name="host-1", problem="Connection refused"), BOTH[1])
    assert main(["logs", stack_file]) == 1
    said = capsys.readouterr()
    assert said.err == "host-1 does not answer: Connection refused\n"
    assert "second" in said.out


def test_where_nothing_is_the_way_to_what_was_kept_is_shown(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts(monkeypatch, HostLogs(name="host-1"), HostLogs(name="host-2"))
    assert main(["logs", stack_file]) == 0
    assert "--previous" in capsys.readouterr().err


def test_what_was_kept_has_a_header_for_each_container(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = hosts(monkeypatch, wrote("host-1", "server", (1, "killed"), record=RECORD))
    assert main(["logs", stack_file, "--previous"]) == 0
    assert asked == [("kept", logs.LINES)]
    noted, _, lines = capsys.readouterr().out.partition("\n\n")
    assert " ".join(noted.split()) == (
        "host-1 server: kept at 2026-11-30 12:20:00, gave up: ready, exited, exit status 137, "
        "out of memory, ran from 2026-11-30 12:00:00 to 2026-11-30 12:10:00, 2 restarts"
    )
    assert lines == "host-1  server  2026-11-30 12:00:01.000  killed\n"


def test_a_record_that_says_nothing_is_no_traceback(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts(monkeypatch, wrote("host-1", "", (1, "killed"), record=KeptRecord()))
    assert main(["logs", stack_file, "--previous"]) == 0
    assert "kept at an unknown time, for an unknown reason" in capsys.readouterr().out


def test_what_ran_when_it_was_kept_has_no_exit_status(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {"status": "running", "exit_code": 0, "reason": "removed", "oom_killed": False}
    record = RECORD.model_copy(update={**changes, "finished_at": "0001-01-01T00:00:00Z"})
    hosts(monkeypatch, wrote("host-1", "server", (1, "x"), record=record))
    main(["logs", stack_file, "--previous"])
    assert capsys.readouterr().out.splitlines()[0] == (
        "host-1 server: kept at 2026-11-30 12:20:00, removed, running since 2026-11-30 12:00:00,"
        " 2 restarts"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "host-9"], 'no host is named "host-9"; known here: host-1, host-2'),
        (["--previous", "--follow"], "leave --since and --follow out"),
        (["--previous", "--since", "1m"], "leave --since and --follow out"),
    ],
)
def test_words_that_can_not_be_meant_end_with_2(
    words: list[str], said: str, stack_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", stack_file, *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--lines", "0"], ["--lines", "x"], ["--since", "soon"]])
def test_words_that_are_no_number_end_with_2(
    words: list[str], stack_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["logs", stack_file, *words])
    assert ended.value.code == 2
    assert words[1] in capsys.readouterr().err


def test_following_shows_what_is_new_alone_and_tells_a_silent_host_once(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts(monkeypatch, *BOTH)
    later = wrote("host-1", "server", (3, "third"), (5, "fifth"))
    looks: dict[str, list[HostLogs]] = {
        "host-1": [later, later, later],
        "host-2": [HostLogs(name="host-2", problem="Connection refused")] * 2,
    }
    asked: list[tuple[str, str]] = []

    def read(host: Any, stack: str, what: str, lines: int, since: str) -> HostLogs:
        asked.append((host.name, since))
        if not looks[host.name]:
            raise KeyboardInterrupt
        return looks[host.name].pop(0)

    monkeypatch.setattr(logs, "read_host_logs", read)
    monkeypatch.setattr(logs, "EVERY_SECONDS", 0.05)
    assert main(["logs", stack_file, "--follow"]) == 1
    said = capsys.readouterr()
    assert [line.split()[-1] for line in said.out.splitlines() if line] == [
        *("first", "second", "third", "12:00:04.000"),
        "fifth",
    ]
    assert said.err == "host-2 does not answer: Connection refused\n"
    assert asked[0] == ("host-1", "2026-11-30T12:00:27Z")


def test_a_reader_that_wants_no_more_is_no_traceback(stack_file: str, tmp_path: Path) -> None:
    many = 'while :; do echo "log\ta\tserver\t2026-11-30T12:00:00.000000000Z line"; done'
    now = r"printf 'now\t2026-11-30T12:00:00Z\n'"
    program(tmp_path / "ssh", f"{now}\n({many}) | head -n 20000")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    words = [sys.executable, "-m", "tandem", "logs", stack_file, "--lines", "20000"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith("host-1  server  ")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
