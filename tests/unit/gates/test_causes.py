"""The first cause before what a gate says, read from the logs of all its containers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tandem.errors import GateFailed
from tandem.gates.causes import naming_first_cause
from tandem.remote import supervise
from tandem.ssh import SshTarget
from tests.builders import watched
from tests.shell import program
from tests.unit.gates.docker import RUNNING, SECRET

if TYPE_CHECKING:
    from tests.unit.gates.docker import FakeDocker

BOTH = [watched(1, "server"), watched(2)]
SERVER, WORKER = (item.container for item in BOTH)
NEVER = "0001-01-01T00:00:00Z"


def error(at: str, words: str, process: str = "") -> str:
    """Return the lines of a traceback with their times, in tenths of a second at most."""
    at = at if "." in at else f"{at}.0"
    lines = ("Traceback (most recent call last):", '  File "/x/y.py", line 7, in work', words)
    return "".join(f"2026-11-30T{at}00000000Z {process}{line}\n" for line in lines)


def said() -> str:
    """Return what a gate says that gave up."""

    def give_up() -> object:
        raise GateFailed("no answer after 60 s\nand more")

    with pytest.raises(GateFailed) as failed:
        naming_first_cause(BOTH, give_up)
    text = str(failed.value)
    assert text.endswith("no answer after 60 s\nand more")
    return text.removesuffix("no answer after 60 s\nand more").rstrip("\n")


def test_the_first_cause_comes_before_what_the_gate_says(docker: FakeDocker) -> None:
    docker.logs[SERVER] = error("12:10:05", "KeyError: 'late'")
    docker.logs[WORKER] = error("12:10:03", "KeyError: 'early'", "(Worker_TP1 pid=5) ")
    assert (
        said() == "first cause: KeyError: 'early' in y.py:7 (work), rank 1 on host-2, at 12:10:03"
    )


def test_where_the_logs_tell_no_cause_nothing_is_added(docker: FakeDocker) -> None:
    assert said() == ""
    docker.logs[SERVER] = error("12:10:05", "EngineDeadError: See stack trace (above)")
    assert said() == ""


def test_a_gate_that_is_through_reads_no_log(docker: FakeDocker) -> None:
    docker.logs[SERVER] = error("12:10:05", "KeyError: 1")
    assert naming_first_cause(BOTH, lambda: "through") == "through"
    assert not [words for _, _, words in docker.asked if words[0] == "logs"]


def test_a_rank_that_ray_tells_of_by_address_is_on_that_host(docker: FakeDocker) -> None:
    docker.logs[SERVER] = error("12:10:05", "KeyError: 1", "(RayWorkerProc pid=7, ip=10.0.0.2) ")
    assert said().endswith(" on host-2, at 12:10:05")


def test_the_start_that_failed_counts_and_none_before(docker: FakeDocker) -> None:
    started = {"StartedAt": "2026-11-30T12:10:00.5Z", "FinishedAt": "2026-11-30T12:09:58.25Z"}
    docker.states[SERVER] = RUNNING | started
    old, new = error("12:09:57", "KeyError: 'old'"), error("12:10:20", "KeyError: 'new'")
    docker.logs[SERVER] = old + new + error("12:10:40", "KeyError: 'after the restart'")
    # The worker is up for longer: what it wrote at an earlier start of the server does not count.
    docker.logs[WORKER] = error("12:05:00", "KeyError: 'long ago'")
    assert said().startswith("first cause: KeyError: 'new' ")
    # Where it stayed down once and was started by hand, that is long over.
    words = "2026-11-30T12:0{}:00.0Z tandem: {} after 5 restarts\n"
    docker.logs[SERVER] = "".join(words.format(n, "the command ended: it") for n in (1, 2))
    docker.logs[SERVER] += words.format(3, "stays down") + old + new
    assert said().startswith("first cause: KeyError: 'new' ")
    # Docker notes a start a moment after the program's first words.
    docker.logs[SERVER] = old + error("12:10:00", "KeyError: 'at once'")
    assert said().startswith("first cause: KeyError: 'at once' ")


def test_at_the_first_start_of_a_server_the_others_older_lines_do_not_count(
    docker: FakeDocker,
) -> None:
    docker.states[WORKER] = RUNNING | {"StartedAt": "2026-11-29T12:00:00Z"}
    docker.logs[WORKER] = error("11:59:00", "KeyError: 'of another server'")
    assert said() == ""
    docker.logs[WORKER] += error("12:01:00", "KeyError: 'of this one'")
    assert said().startswith("first cause: KeyError: 'of this one' ")


def test_a_start_that_had_ended_when_the_gate_began_counts(docker: FakeDocker) -> None:
    ended = {"StartedAt": "2026-11-30T12:10:00.5Z", "FinishedAt": "2026-11-30T12:10:30Z"}
    docker.states[SERVER] = RUNNING | ended | {"Status": "restarting"}
    docker.logs[SERVER] = error("12:09:45", "KeyError: 'old'") + error("12:10:20", "KeyError: 'it'")
    assert said().startswith("first cause: KeyError: 'it' ")


def test_where_a_container_stays_down_the_start_before_its_last_words_counts(
    docker: FakeDocker, tmp_path: Path
) -> None:
    ended = {"StartedAt": "2026-11-30T12:12:30.5Z", "FinishedAt": "2026-11-30T12:12:30.9Z"}
    docker.states[SERVER] = RUNNING | ended | {"Status": "exited"}
    starts = [error(f"12:1{n}:20", f"KeyError: 'start {n}'") for n in (0, 1)] + [""]
    for n, start in enumerate(starts):
        words = ("--limit=1", "--window=60", f"--folder={tmp_path}", "--", "false")
        ran = [sys.executable, supervise.__file__, *words]
        last = subprocess.run(ran, capture_output=True, text=True, check=False).stderr
        before = docker.logs.get(SERVER, "")
        docker.logs[SERVER] = f"{before}{start}2026-11-30T12:1{n}:30.8Z {last}"
    assert "stays down" in docker.logs[SERVER]
    # The others' lines count since the same time.
    docker.logs[WORKER] = error("12:10:10", "KeyError: 'long ago'")
    assert said().startswith("first cause: KeyError: 'start 1' ")
    docker.logs[WORKER] += error("12:11:10", "KeyError: 'of the worker'")
    assert said().startswith("first cause: KeyError: 'of the worker' ")


def test_a_container_that_never_started_has_no_cause_in_its_log(docker: FakeDocker) -> None:
    docker.states[SERVER] = RUNNING | {"Status": "created", "StartedAt": NEVER}
    docker.logs[WORKER] = error("12:10:05", "KeyError: 'of another server'")
    assert said() == ""


@pytest.mark.parametrize(("ahead", "at"), [(3600, "13:10:03"), (-3600, "11:10:03")])
def test_a_clock_that_is_wrong_does_not_change_which_error_is_the_first(
    ahead: int, at: str, docker: FakeDocker, tmp_path: Path
) -> None:
    add = f"case $SSH_HOST in *host-2) add={ahead};; *) add=0;; esac\n"
    program(tmp_path / "machine/bin/date", add + '/bin/date -d "$add seconds" "$@"')
    docker.states[WORKER] = RUNNING | {"StartedAt": f"2026-11-30T{at[:2]}:00:00Z"}
    docker.logs[SERVER] = error("12:10:04", "KeyError: 'late'")
    docker.logs[WORKER] = error(at, "KeyError: 'early'")
    assert said() == f"first cause: KeyError: 'early' in y.py:7 (work), on host-2, at {at}"
    docker.logs[SERVER] = error("12:10:02", "KeyError: 'early, too'")
    assert said().startswith("first cause: KeyError: 'early, too' ")


@pytest.mark.parametrize("clock", ["echo nonsense", "exit 1", '/bin/date "$@"; sleep 0.6'])
def test_a_clock_that_is_not_known_exactly_changes_nothing(
    clock: str, docker: FakeDocker, tmp_path: Path
) -> None:
    told = f'case $SSH_HOST in *host-2) {clock};; *) /bin/date "$@";; esac'
    program(tmp_path / "machine/bin/date", told)
    docker.logs[SERVER] = error("12:10:03.2", "KeyError: 'late'")
    docker.logs[WORKER] = error("12:10:03.0", "KeyError: 'early'")
    assert said().startswith("first cause: KeyError: 'early' ")


def test_a_host_that_does_not_answer_leaves_the_others_logs(docker: FakeDocker) -> None:
    docker.reach = lambda container, look: container != WORKER
    docker.logs[SERVER] = error("12:10:05", "KeyError: 'here'")
    assert said().startswith("first cause: KeyError: 'here' ")


def test_of_a_long_log_the_end_is_read_and_of_a_long_line_the_beginning(
    docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    run = SshTarget.run

    def noting(target: SshTarget, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        done = run(target, *words, **options)
        read.append(done.stdout)
        return done

    monkeypatch.setattr(SshTarget, "run", noting)
    docker.logs[SERVER] = ("x" * 5000 + "\n") * 3000 + error(
        "12:10:05", "ValueError: " + "y" * 9000
    )
    assert said().startswith("first cause: ValueError: yyy")
    assert max(map(len, read)) < 2.1 * 1024**2
    assert max(len(line) for text in read for line in text.split("\n")) <= 2000
    assert not any(SECRET in text for text in read)


def test_all_containers_are_asked_within_limits(docker: FakeDocker) -> None:
    said()
    assert {limit for _, limit, words in docker.asked if words[0] == "logs"} == {"20"}
