"""The first cause of a failure, from public logs that were shortened: first_cause/*.yaml."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import pytest
import yaml

from tandem.gates.first_cause import LONGEST, FirstCause, first_cause
from tests.unit.gates.logs import DAY, cause_of, docker_log, traceback

CASES = {path.stem: path for path in Path(__file__).with_name("first_cause").glob("*.yaml")}


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
    found = first_cause([docker_log("a", text, since=start, ahead=40)])
    assert found is not None
    assert found.error == "KeyError: 'now'"
    assert first_cause([docker_log("a", text, since=start + 600)]) is None


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
    ("process", "at", "first"),
    [
        ("(Worker_TP1 pid=5) ", "10:00:02", "KeyError: 'later'"),
        ("[rank1]: ", "10:00:02", "KeyError: 'later'"),
        ("(Worker_TP1 pid=5) ", "10:00:09", "KeyError: 'the engine'"),
        ("(APIServer pid=6) ", "10:00:02", "KeyError: 'the engine'"),
        ("", "10:00:02", "KeyError: 'the engine'"),
    ],
)
def test_the_engine_may_tell_first_what_it_did_not_get_from_a_rank(
    process: str, at: str, first: str
) -> None:
    engine = traceback("10:00:00", "KeyError: 'the engine'", "(EngineCore pid=2) ")
    found = cause_of(engine, traceback(at, "KeyError: 'later'", process))
    assert found is not None
    assert found.error == first


@pytest.mark.parametrize("process", ["", "(Worker_TP0 pid=2) ", "(EngineCore pid=2) RAY"])
def test_what_is_of_a_rank_already_is_not_given_up_for_a_later_one(process: str) -> None:
    ray = "RayTaskError(KeyError): ray::RayWorkerProc.run() (pid=9, ip=10.0.0.9)"
    error = traceback("10:00:00", "KeyError: 'first'", process.removesuffix("RAY"))
    if process.endswith("RAY"):
        error = error.replace("Traceback (most recent call last):", ray)
    found = cause_of(error, traceback("10:00:02", "KeyError: 'later'", "(Worker_TP1 pid=5) "))
    assert found is not None
    assert found.error == "KeyError: 'first'"


def test_an_address_that_is_nobodys_is_told_as_it_is() -> None:
    found = cause_of(traceback("10:00:00", "KeyError: 1", "(RayWorkerProc pid=5, ip=10.0.0.9) "))
    assert found is not None
    assert found.host == "10.0.0.9"


def test_a_long_error_is_cut() -> None:
    found = cause_of(traceback("10:00:00", "ValueError: " + "word " * 10_000))
    assert found is not None
    assert len(found.error) <= LONGEST + 2
    assert found.error.endswith("word …")
