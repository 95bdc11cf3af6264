"""Which of a log's errors can be a cause."""

from __future__ import annotations

import pytest

from tests.unit.gates.logs import cause_of, traceback


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
