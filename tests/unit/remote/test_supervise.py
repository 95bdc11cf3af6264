"""The program that counts a container's starts, around real commands."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tandem.remote import supervise

STOPS = (
    "-c",
    "import signal; both = {signal.SIGTERM, signal.SIGINT};"
    "[signal.signal(number, signal.SIG_DFL) for number in both];"
    "print('ready', flush=True); signal.sigwait({signal.SIGUSR1})",
)
"""A command that a signal ends."""
OBEYS = (
    "-c",
    "import signal; both = {signal.SIGTERM, signal.SIGINT};"
    "signal.pthread_sigmask(signal.SIG_BLOCK, both);"
    "print('ready', flush=True); signal.sigwait(both)",
)
"""A command that ends with 0 when it gets a signal."""


def words(folder: Path, *command: str, limit: int = 2, window: float = 60) -> list[str]:
    """Return the command line, with a folder that stands for the container's own."""
    options = [f"--limit={limit}", f"--window={window}", f"--folder={folder}"]
    return [sys.executable, supervise.__file__, *options, "--", *command]


def start(folder: Path, *command: str, limit: int = 2, window: float = 60) -> tuple[int, str]:
    """Let the container start once and end; return status and last line."""
    done = subprocess.run(
        words(folder, *command, limit=limit, window=window),
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.returncode, done.stderr.splitlines()[-1]


def fails(status: int = 3) -> tuple[str, ...]:
    return (sys.executable, "-c", f"raise SystemExit({status})")


def test_after_the_limit_it_does_not_run_the_command_says_why_and_ends_with_0(
    tmp_path: Path,
) -> None:
    for _ in range(3):
        assert start(tmp_path, *fails()) == (3, "tandem: the command ended: exit status 3")
    status, line = start(tmp_path, *fails())
    assert status == 0
    assert line.startswith("tandem: stays down after 2 restarts within 1 min (")
    assert "last end: exit status 3. `pulumi up --refresh` replaces this container" in line


def test_a_start_by_hand_after_it_gave_up_counts_anew(tmp_path: Path) -> None:
    for _ in range(4):
        start(tmp_path, *fails())
    assert [start(tmp_path, *fails())[0] for _ in range(4)] == [3, 3, 3, 0]


def test_a_restart_that_is_longer_ago_than_the_window_does_not_count(tmp_path: Path) -> None:
    assert [start(tmp_path, *fails(), limit=1, window=0.01)[0] for _ in range(4)] == [3] * 4


def test_a_clock_that_was_set_back_does_not_keep_the_container_down(tmp_path: Path) -> None:
    ahead = {"restarts": [time.time() + 10_000] * 3, "end": "signal 9"}
    (tmp_path / supervise.RECORD).write_text(json.dumps(ahead))
    assert start(tmp_path, *fails())[0] == 3


@pytest.mark.parametrize(("command", "status"), [(fails(0), 1), (fails(4), 4)])
def test_a_command_that_ends_by_itself_is_started_again_whatever_its_status(
    command: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    assert start(tmp_path, *command)[0] == status


def test_a_command_that_a_signal_ended_is_told_by_its_number(tmp_path: Path) -> None:
    killed = (sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    assert start(tmp_path, *killed) == (137, "tandem: the command ended: signal 9")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("program", [STOPS, OBEYS])
def test_a_signal_reaches_the_command_and_the_end_is_no_success(
    program: tuple[str, ...], number: signal.Signals, tmp_path: Path
) -> None:
    with subprocess.Popen(
        words(tmp_path, sys.executable, *program), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        running.send_signal(number)
        assert running.wait(10) == 128 + number
    record = json.loads((tmp_path / supervise.RECORD).read_text())
    assert record["end"].startswith(f"stopped by signal {number:d}")


def test_a_container_that_is_killed_whole_counts_and_is_told(tmp_path: Path) -> None:
    for _ in range(3):
        sleep = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
        command = words(tmp_path, sys.executable, "-c", sleep)
        with subprocess.Popen(command, stdout=subprocess.PIPE) as running:
            assert running.stdout is not None
            child = int(running.stdout.readline())
            running.kill()
            os.kill(child, signal.SIGKILL)
    status, line = start(tmp_path, *fails())
    assert status == 0
    assert "last end: the container was killed, or its host lost power." in line


def test_what_another_program_says_of_the_end_is_the_reason(tmp_path: Path) -> None:
    says = f"open({str(tmp_path / supervise.REASON)!r}, 'w').write('stalled: 1 request')"
    told = (sys.executable, "-c", f"{says}; raise SystemExit(1)")
    assert start(tmp_path, *told) == (1, "tandem: the command ended: stalled: 1 request")
    assert start(tmp_path, *fails()) == (3, "tandem: the command ended: exit status 3")


def test_a_record_that_cannot_be_written_is_told_and_the_command_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    done = subprocess.run(
        words(tmp_path / "file", *fails()), capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 3
    assert "restarts are not counted" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_record_that_is_not_whole_is_no_record(tmp_path: Path) -> None:
    (tmp_path / supervise.RECORD).write_text('{"restarts": [1')
    assert start(tmp_path, *fails())[0] == 3


def test_a_program_that_the_image_does_not_have_is_named(tmp_path: Path) -> None:
    status, line = start(tmp_path, "no-such-program")
    assert (status, line) == (127, "tandem: the image has no program no-such-program")


def test_a_wait_for_the_head_is_said_once_and_counts_as_no_start(tmp_path: Path) -> None:
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{head.getsockname()[1]}"
        command = words(tmp_path, *fails())
        command.insert(2, f"--after={address}")
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as waiting:
            assert waiting.stderr is not None
            assert waiting.stderr.readline().startswith(f"tandem: waiting for {address}: ")
            time.sleep(0.2)
            assert not (tmp_path / supervise.RECORD).exists()
            head.listen()
            assert waiting.wait(10) == 3
            assert waiting.stderr.read() == "tandem: the command ended: exit status 3\n"


def test_in_place_the_command_starts_again_without_what_it_left_and_still_not_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cleared = []

    def clear() -> bool:
        cleared.append(True)  # what it really does would end this test run
        return True

    monkeypatch.setattr(supervise, "end_others", clear)
    monkeypatch.setattr(supervise, "POLL_SECONDS", 0)
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    status = supervise.supervise(list(fails()), 2, 60, tmp_path, in_place=True)
    for number, handler in zip((signal.SIGTERM, signal.SIGINT), before, strict=True):
        signal.signal(number, handler)
    said = capsys.readouterr().err.splitlines()
    assert (status, len(cleared)) == (0, 3)
    assert said[:3] == ["tandem: the command ended: exit status 3"] * 3
    assert said[3].startswith("tandem: stays down after 2 restarts")


def test_outside_of_a_container_nothing_is_killed(tmp_path: Path) -> None:
    init = tmp_path / "cmdline"
    init.write_bytes(b"/sbin/init\0splash\0")
    assert not supervise.end_others(init)
