"""The words that reach a host."""

import re
import shlex
import time
from pathlib import Path

import pytest

from tandem import ssh
from tandem.ssh import SshTarget
from tests.shell import host_here


def test_the_command_reaches_the_remote_shell_as_the_same_words() -> None:
    command = ("sh", "-c", "echo $HOME; ls 'a b'", "")
    argv = SshTarget("ops@host").argv(*command)
    assert argv[0] == "ssh"
    assert argv[-4:-1] == ["-T", "--", "ops@host"]
    assert tuple(shlex.split(argv[-1])) == command


def test_what_the_user_gives_comes_first_since_ssh_takes_the_first_value() -> None:
    options = ("-o", "ConnectTimeout=99", "-F", "some where")
    argv = SshTarget("host", options).argv("true")
    assert tuple(argv[1:5]) == options
    assert argv.index("ConnectTimeout=99") < argv.index("ConnectTimeout=10")


def test_nobody_is_asked_and_host_keys_are_checked() -> None:
    options = SshTarget("host").all_options
    assert "BatchMode=yes" in options
    assert "StrictHostKeyChecking=yes" in options


def test_these_options_are_tandems_own() -> None:
    *words, control_path = SshTarget("host").all_options
    assert words[::2] == ["-o"] * 8
    assert words[1::2] == [
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        "ConnectTimeout=10",
        "ServerAliveInterval=10",
        "ServerAliveCountMax=3",
        "ControlMaster=auto",
        "ControlPersist=60",
    ]
    assert re.fullmatch(r"ControlPath=~/\.ssh/tandem-[0-9a-f]{8}-%C", control_path)


def test_a_host_has_another_connection_for_another_alias_or_other_options() -> None:
    targets = [SshTarget("a"), SshTarget("b"), SshTarget("a", ("-4",)), SshTarget("a", ("-", "4"))]
    assert len({target.all_options[-1] for target in targets}) == 4
    assert SshTarget("a").all_options == SshTarget("a").all_options


def test_no_path_of_the_operator_is_in_the_options() -> None:
    assert str(Path.home()) not in " ".join(SshTarget("host").all_options)


@pytest.mark.parametrize(
    ("destination", "docker_host"),
    [
        ("spark-1", "ssh://spark-1"),
        ("nvidia@spark-1.lan", "ssh://nvidia@spark-1.lan"),
        ("ssh://nvidia@spark-1.lan:22", "ssh://nvidia@spark-1.lan:22"),
    ],
)
def test_docker_reaches_the_same_destination(destination: str, docker_host: str) -> None:
    assert SshTarget(destination).docker_host == docker_host


def test_a_command_gets_its_input_and_gives_output_and_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "ssh"
    fake.write_text('#!/bin/sh\nfor last; do :; done\nsh -c "$last"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("HOME", str(tmp_path))
    done = SshTarget("host").run("sh", "-c", "cat; echo bad >&2; exit 3", stdin="good")
    assert (done.stdout, done.stderr, done.returncode) == ("good", "bad\n", 3)
    assert (tmp_path / ".ssh").stat().st_mode & 0o777 == 0o700
    ssh.make_control_directory()


def test_a_watch_that_raises_ends_a_command_that_would_hang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sleep_instead(_: SshTarget, *command: str) -> list[str]:
        return ["sleep", "60"]

    def give_up() -> None:
        raise RuntimeError("the container ended")

    monkeypatch.setattr(SshTarget, "argv", sleep_instead)
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="the container ended"):
        SshTarget("host").run_watched("docker", watch=give_up, every=0.05)
    assert time.monotonic() - started < 30


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let `ssh` run its command here; return a folder."""
    return host_here(tmp_path, monkeypatch)


@pytest.mark.parametrize("seconds", ["0", "0.3"])
def test_a_watched_command_gives_its_output_and_exit_status(here: Path, seconds: str) -> None:
    words = ("sh", "-c", f"cat; sleep {seconds}; echo done; exit 7")
    done = SshTarget("host").run_watched(*words, watch=lambda: None, every=0.05)
    assert (done.stdout, done.returncode) == ("done\n", 7)


def test_when_nobody_waits_any_more_the_command_ends_on_the_host(here: Path) -> None:
    def give_up() -> None:
        if (here / "pid").exists():
            raise RuntimeError("the container ended")

    words = ("sh", "-c", f"echo $$ >{here}/new; mv {here}/new {here}/pid; exec sleep 600")
    with pytest.raises(RuntimeError, match="the container ended"):
        SshTarget("host").run_watched(*words, watch=give_up, every=0.05)
    work = Path("/proc", (here / "pid").read_text().strip(), "cmdline")
    deadline = time.monotonic() + 20
    while work.exists() and "sleep" in work.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_host_that_is_silent_for_too_long_counts_as_unreachable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sleep_instead(_: SshTarget, *command: str) -> list[str]:
        return ["sleep", "60"]

    monkeypatch.setattr(SshTarget, "argv", sleep_instead)
    done = SshTarget("host").run("docker", timeout=0.05)
    assert (done.returncode, done.stdout) == (255, "")
    assert done.stderr == "no answer within 0.05 s"


def test_what_a_host_said_before_it_fell_silent_is_kept(here: Path) -> None:
    words = ("sh", "-c", r"printf 'half a line\377'; sleep 60")
    done = SshTarget("host").run(*words, timeout=2)
    assert (done.returncode, done.stdout) == (ssh.UNREACHABLE, "half a line\ufffd")


def test_output_that_is_no_utf8_is_read_all_the_same(here: Path) -> None:
    done = SshTarget("host").run("sh", "-c", r"printf 'a\377b'; printf 'c\377' >&2")
    assert (done.stdout, done.stderr) == ("a\ufffdb", "c\ufffd")


@pytest.mark.parametrize(
    ("said", "reason"), [("", ""), ("one\n", "one"), ("one\ntwo\n\n", "two"), ("  one  ", "one")]
)
def test_the_last_line_is_the_reason(said: str, reason: str) -> None:
    assert ssh.last_line(said) == reason


def test_a_command_that_was_started_goes_on_until_its_input_ends(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def cat_instead(_: SshTarget, *command: str) -> list[str]:
        return ["cat", *command]

    monkeypatch.setattr(SshTarget, "argv", cat_instead)
    monkeypatch.setenv("HOME", str(tmp_path))
    with SshTarget("host").start("-u") as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("one\n")
        process.stdin.flush()
        assert process.stdout.readline() == "one\n"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(timeout=10) == 0
