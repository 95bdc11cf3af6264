"""What a line of a log says of its process, its rank and its time."""

from __future__ import annotations

import time

import pytest

from tandem.gates.first_cause import ContainerLog, first_cause
from tandem.gates.log_lines import read_line
from tests.unit.gates.logs import cause_of, traceback


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


@pytest.mark.parametrize(
    ("prefix", "level"),
    [
        ("ERROR 11-30 10:00:00 [core.py:1] ", "ERROR"),
        ("WARNING 11-30 10:00:00.123 [v1/engine/core.py:1] ", "WARNING"),
        ("ERROR 11-30 10:00:00 core.py:1] ", "ERROR"),
        ("[E1103 23:14:03.342459398 ProcessGroupNCCL.cpp:2068] ", "E"),
        ("[W socket.cpp:432] ", "W"),
        ("E1103 23:14:03.342459 7 core_worker.cc:1] ", "E"),
        ("[2026-11-30 10:00:00,123 C 12 34] raylet.cc:1: ", "C"),
        ("[2026-11-30 10:00:00,123 I 12 34] (raylet) raylet.cc:1: ", "I"),
        ("2026-11-30 10:00:00,123\tINFO worker.py:1 -- ", "INFO"),
        ("ERROR:    ", "ERROR"),
        ("DEBUG:root:", "DEBUG"),
        ("CRITICAL:ray.serve:", "CRITICAL"),
        ("no prefix: ", ""),
    ],
)
def test_the_level_is_read_whoever_wrote_it(prefix: str, level: str) -> None:
    line = read_line(f"2026-11-30T10:00:00.000000000Z {prefix}what: is said")
    assert line is not None
    assert (line.level, line.text) == (
        level,
        "what: is said" if level else f"{prefix}what: is said",
    )
    assert line.is_low == (level in {"DEBUG", "INFO", "WARNING", "D", "I", "W"})
    assert line.is_fatal == (level == "C")


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


@pytest.mark.parametrize(
    "process",
    [
        # It noted the same second, but only what Ray passes on comes late.
        "(Worker_TP0 pid=2) ERROR 11-30 10:00:01 [core.py:1] ",
        # Its host's clock is ahead a little, as far as nobody could tell.
        "(RayWorkerProc pid=2, ip=10.0.0.9) ERROR 11-30 10:00:02 [core.py:1] ",
    ],
)
def test_the_time_that_a_process_noted_makes_nothing_earlier_that_was_not(process: str) -> None:
    late = traceback("10:00:01", "KeyError: 'late'", process).replace("01.000", "01.900")
    early = traceback("10:00:01", "KeyError: 'early'").replace("01.000", "01.200")
    found = cause_of(late, early)
    assert found is not None
    assert found.error == "KeyError: 'early'"


def test_a_log_puts_no_control_characters_and_no_lines_into_the_sentence() -> None:
    evil = "KeyError: a\x1b[2J\x07\x1b]0;title\x07\u202eb\x85c\u2028d\te"
    found = cause_of(traceback("10:00:00", evil, frame="f\u202e\x9b"))
    assert found is not None
    assert str(found).isprintable()
    assert found.error == "KeyError: a ]0;title b c d e"


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
