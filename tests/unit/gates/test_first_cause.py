"""The first cause of a failure, from public logs that were shortened: first_cause/*.yaml."""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tandem.gates.first_cause import LONGEST, ContainerLog, FirstCause, first_cause

CASES = {path.stem: path for path in Path(__file__).with_name("first_cause").glob("*.yaml")}
DAY = "2026-11-30"
_TIME = re.compile(r"^(\d\d:\d\d:\d\d)\.(\d{3}) ", re.MULTILINE)


def docker_log(host: str, text: str, role: str = "server", **known: Any) -> ContainerLog:
    """Return a log whose lines begin with a time of the day, as Docker prints it."""
    printed = _TIME.sub(rf"{DAY}T\1.\g<2>000000Z ", text).replace("ESC", "\x1b")
    return ContainerLog(**{"host": host, "text": printed, **known})


def cause_of(*texts: str) -> FirstCause | None:
    """Return the first cause of the logs of hosts a, b and so on."""
    return first_cause([docker_log(host, text) for host, text in zip("abc", texts, strict=False)])


def traceback(at: str, error: str, process: str = "", frame: str = "work") -> str:
    """Return the lines of a traceback."""
    lines = ("Traceback (most recent call last):", f'  File "/x/y.py", line 7, in {frame}', error)
    return "".join(f"{at}.000 {process}{line}\n" for line in lines)


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_first_cause_is_found(name: str) -> None:
    case = yaml.safe_load(CASES[name].read_text())
    assert set(case) == {"about", "source", "logs", "expect"}
    found = first_cause([docker_log(**log) for log in case["logs"]])
    told = found and asdict(found) | {"time": found.time[11:19]}
    unsaid = {"frame": "", "rank": ""}
    assert told == (case["expect"] and unsaid | case["expect"])


def test_the_sentence_names_error_frame_rank_host_and_time() -> None:
    cause = FirstCause("AssertionError", "runner.py:3174 (run)", "2", "lab-2", f"{DAY}T12:00:03Z")
    assert str(cause) == (
        "first cause: AssertionError in runner.py:3174 (run), rank 2 on lab-2, at 12:00:03"
    )
    bare = FirstCause("Killed", "", "", "lab-1", f"{DAY}T12:00:03Z")
    assert str(bare) == "first cause: Killed, on lab-1, at 12:00:03"


def test_of_two_causes_the_earlier_one_is_told_wherever_it_stands() -> None:
    late, early = traceback("10:00:02", "KeyError: 2"), traceback("10:00:01", "KeyError: 1")
    for texts in ((late, early), (early, late), (early + late,)):
        found = cause_of(*texts)
        assert found is not None
        assert found.error == "KeyError: 1"


def test_lines_of_an_earlier_start_do_not_count() -> None:
    text = traceback("10:00:00", "KeyError: 'before'") + traceback("10:05:00", "KeyError: 'now'")
    start = datetime.fromisoformat(f"{DAY}T10:02:00Z").timestamp()
    for ahead, error in ((0.0, "KeyError: 'now'"), (-200.0, "KeyError: 'before'")):
        found = first_cause([docker_log("a", text, ahead=ahead)], start)
        assert found is not None
        assert found.error == error
    assert first_cause([docker_log("a", text)], start + 600) is None


def test_an_error_during_the_handling_of_another_one_is_not_the_first() -> None:
    between = "10:00:00.000 \n10:00:00.000 During handling of the above exception, another\n"
    text = (
        traceback("10:00:00", "KeyError: 'first'")
        + between
        + traceback("10:00:00", "ValueError: 2")
    )
    found = cause_of(text)
    assert found is not None
    assert found.error == "KeyError: 'first'"


@pytest.mark.parametrize(
    "header", ["Exception ignored in: <function f>", "Error in atexit._run_exitfuncs:"]
)
def test_what_python_ignores_is_none_and_what_is_raised_while_it_does_neither(header: str) -> None:
    noise = f"10:00:00.000 {header}\n" + traceback("10:00:00", "ValueError: noise")
    chained = "10:00:00.000 During handling of the above exception, another exception occurred:\n"
    noise += chained + traceback("10:00:00", "ValueError: more noise")
    assert cause_of(noise) is None
    found = cause_of(noise + traceback("10:00:01", "ValueError: cause"))
    assert found is not None
    assert found.error == "ValueError: cause"


@pytest.mark.parametrize(
    ("code", "is_told"), [("-9", True), ("-11", True), ("1", True), ("-15", False), ("0", False)]
)
def test_how_a_process_ended_tells_whether_that_counts(code: str, is_told: bool) -> None:
    line = f"10:00:00.000 Worker proc VllmWorker-3 died unexpectedly (exit code: {code}), x\n"
    found = cause_of(line)
    assert (found.rank if found else None) == ("3" if is_told else None)


def test_a_killed_process_comes_before_later_exceptions_and_an_unexplained_end_after_them() -> None:
    later = traceback("10:00:01", "IndexError: later")
    for code, error in (("-9", "Worker proc VllmWorker-0 died"), ("1", "IndexError: later")):
        text = f"10:00:00.000 Worker proc VllmWorker-0 died unexpectedly (exit code: {code})\n"
        found = cause_of(text + later)
        assert found is not None
        assert found.error.startswith(error)


@pytest.mark.parametrize(
    "error",
    [
        "asyncio.exceptions.CancelledError",
        "RuntimeError: cancelled",
        "SystemExit: 1",
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.",
        "RuntimeError: Worker failed, please check the stack trace above for the root cause",
        "RuntimeError: cannot schedule new futures after shutdown",
    ],
)
def test_what_only_tells_of_another_error_is_never_told(error: str) -> None:
    assert cause_of(traceback("10:00:00", error)) is None


@pytest.mark.parametrize(
    "error",
    [
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "TimeoutError: RPC call to execute_model timed out.",
        "torch.distributed.DistBackendError: NCCL communicator was aborted on rank 0.",
        "RuntimeError: Worker failed with error 'CUDA out of memory', please check the stack trace",
    ],
)
def test_a_consequence_is_told_where_there_is_nothing_else_and_never_beside_a_cause(
    error: str,
) -> None:
    consequence = traceback("10:00:00", error)
    alone = cause_of(consequence)
    assert alone is not None
    assert alone.error == error
    beside = cause_of(consequence, traceback("10:00:04", "IndexError: cause"))
    assert beside is not None
    assert (beside.error, beside.host) == ("IndexError: cause", "b")


def test_what_the_api_server_refuses_did_not_end_the_engine() -> None:
    text = "10:00:00.000 (APIServer pid=1) INFO:     Application startup complete.\n" + traceback(
        "10:00:10", "ValueError: a bad request", "(APIServer pid=1) "
    )
    found = cause_of(text)
    assert found is not None
    assert found.error == "ValueError: a bad request"
    found = cause_of(text + traceback("10:00:20", "IndexError: the engine", "(EngineCore pid=2) "))
    assert found is not None
    assert found.error == "IndexError: the engine"


@pytest.mark.parametrize(
    ("process", "rank"),
    [
        ("(Worker_TP1 pid=5) ", "1"),
        ("(Worker_PP3 pid=5) ", "3"),
        ("(Worker_TP1_EP1 pid=5) ", "1"),
        ("(Worker_PP1_TP0 pid=5) ", "PP1_TP0"),
        ("(Worker_DP1_TP0 pid=5) ", "DP1_TP0"),
        ("(VllmWorker rank=7 pid=5) ", "7"),
        ("[rank3]: ", "3"),
        ("(EngineCore_DP0 pid=5) ", ""),
        ("", ""),
    ],
)
def test_the_rank_is_what_the_line_names(process: str, rank: str) -> None:
    found = cause_of(traceback("10:00:00", "KeyError: 1", process))
    assert found is not None
    assert found.rank == rank


def test_a_rank_that_told_its_number_is_known_by_its_process() -> None:
    told = (
        "10:00:00.000 (Worker pid=5) rank 2 in world size 4 is assigned as DP rank 0, PP rank 1\n"
    )
    found = cause_of(told + traceback("10:00:01", "KeyError: 1", "(Worker_PP1_TP0 pid=5) "))
    assert found is not None
    assert found.rank == "2"
    other = cause_of(told + traceback("10:00:01", "KeyError: 1", "(Worker_PP1_TP1 pid=6) "))
    assert other is not None
    assert other.rank == "PP1_TP1"


def test_an_address_that_is_nobodys_is_told_as_it_is() -> None:
    found = cause_of(traceback("10:00:00", "KeyError: 1", "(RayWorkerProc pid=5, ip=10.0.0.9) "))
    assert found is not None
    assert found.host == "10.0.0.9"


def test_a_log_puts_no_control_characters_and_no_lines_into_the_sentence() -> None:
    evil = "KeyError: a\x1b[2J\x07\x1b]0;title\x07\u202eb\x85c\u2028d\te"
    found = cause_of(traceback("10:00:00", evil, frame="f\u202e\x9b"))
    assert found is not None
    assert str(found).isprintable()
    assert found.error == "KeyError: a ]0;title b c d e"


def test_a_long_error_is_cut() -> None:
    found = cause_of(traceback("10:00:00", "ValueError: " + "word " * 10_000))
    assert found is not None
    assert len(found.error) <= LONGEST + 2
    assert found.error.endswith("word …")


@pytest.mark.parametrize(
    "part",
    [
        *(
            "(",
            "(a pid=1) ",
            "[rank1]:",
            "ERROR ",
            "a.",
            "a: error",
            "sh: ",
            "ray::a (",
            '  File "',
        ),
        *("Traceback (most recent call last):", "KeyError: ", "NCCL WARN ", "A worker died "),
        *("\x1b[", "\r", "1 ", "Rank 1] ", "exec ", "- ", "CUDA error'", "Worker proc a-1 died "),
    ],
)
def test_whatever_a_log_holds_is_read_in_a_time_that_grows_with_its_length(part: str) -> None:
    line = f"10:00:00.000 {part * (4000 // len(part))}\n"
    before = time.process_time()
    cause_of(line * 300)
    # It takes a fiftieth of that; a pattern that tries all ways takes minutes.
    assert time.process_time() - before < 10


def test_a_line_without_a_time_or_with_one_that_is_none_is_left_out() -> None:
    assert first_cause([ContainerLog("a", "Error: No such container: it\n")]) is None
    text = "2026-99-99T10:00:00Z KeyError: 1\n"
    assert first_cause([ContainerLog("a", text)]) is None
