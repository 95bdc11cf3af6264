"""What runs beside what should run."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.planner.status import Row, Status, judge, server_container
from tandem.survey.machine import MemoryFacts
from tandem.survey.status import ContainerStatus, HostStatus, Sample, ServerStatus
from tandem.units import GIB
from tests.builders import settings

MEMORY = MemoryFacts(total=64 * GIB, available=48 * GIB)


def container(host: int, part: str, role: str, **changes: Any) -> ContainerStatus:
    """Return a container that runs."""
    name = f"tandem-test-host-{host}-{part}"
    running = ContainerStatus(
        name=name, role=role, state="running", seconds=60, restarts=0, image="sha256:b", memory=GIB
    )
    return running.model_copy(update=changes)


def pair(
    server: dict[str, Any] | None = None,
    worker: dict[str, Any] | None = None,
    said: ServerStatus | None = None,
) -> list[HostStatus]:
    """Return two hosts where all is well, with changes to two containers."""
    here = (container(1, "ray-head", "head"), container(1, "server", "server", **(server or {})))
    sample = Sample(at=10, running=2, waiting=0, kv_cache=0.5, prompt_tokens=9, generation_tokens=9)
    return [
        HostStatus(
            name="host-1",
            memory=MEMORY,
            containers=here,
            server=said or ServerStatus(samples=(sample,)),
        ),
        HostStatus(
            name="host-2",
            memory=MEMORY,
            containers=(container(2, "ray-worker", "worker", **(worker or {})),),
        ),
    ]


def judged(hosts: list[HostStatus], before: Sample | None = None) -> Status:
    return judge(settings(len(hosts)), "test", hosts, before)


def worker(**changes: Any) -> Row:
    """Return the worker's row when it is so."""
    return judged(pair(worker=changes)).rows[-1]


def test_a_deployment_where_all_runs_is_well() -> None:
    status = judged(pair())
    assert [(row.host, row.role, row.ranks) for row in status.rows] == [
        ("host-1", "head", (0,)),
        ("host-1", "server", ()),
        ("host-2", "worker", (1,)),
    ]
    assert (status.is_seen, status.is_well) == (True, True)
    assert (status.load.running, status.load.waiting, status.load.kv_cache) == (2, 0, 0.5)
    assert status.load.generation_rate is None


def test_on_a_single_host_the_server_has_the_ranks() -> None:
    host = HostStatus(
        name="host-1", containers=(container(1, "server", "server"),), server=ServerStatus()
    )
    (row,) = judged([host]).rows
    assert (row.role, row.ranks, row.reason) == ("server", (0,), None)


def test_a_container_that_ended_with_0_gave_up_and_its_last_line_is_why() -> None:
    row = worker(state="exited", exit_code=0, last_line="5 restarts in 30m: vllm ended with 1")
    assert (row.state, row.reason) == ("gave up", "gave up: 5 restarts in 30m: vllm ended with 1")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"state": "exited", "exit_code": 137, "oom_killed": True},
            "exited, exit status 137, out of memory",
        ),
        (
            {"state": "restarting", "exit_code": 3, "last_line": "no GPU"},
            "restarting, exit status 3; last line of its log: no GPU",
        ),
        ({"state": "created", "error": "no such device"}, "created: no such device"),
        ({"state": "paused"}, "paused"),
        ({"health": "unhealthy"}, "its health check fails"),
    ],
)
def test_what_is_wrong_with_a_container_is_said(changes: dict[str, Any], reason: str) -> None:
    assert worker(**changes).reason == reason


@pytest.mark.parametrize("health", ["healthy", "starting", None])
def test_a_health_check_that_does_not_fail_is_well(health: str | None) -> None:
    row = worker(health=health)
    assert (row.reason, row.health) == (None, health)


def test_restarts_are_shown_and_are_no_fault() -> None:
    row = worker(restarts=3)
    assert (row.restarts, row.reason) == (3, None)


def test_a_container_that_is_not_there_is_a_row() -> None:
    first, second = pair()
    status = judged([first, second.model_copy(update={"containers": ()})])
    assert (status.rows[-1].state, status.rows[-1].ranks) == ("missing", (1,))
    assert status.rows[-1].reason == "tandem-test-host-2-ray-worker is not there"
    assert not status.is_well


def test_a_container_of_an_earlier_stack_file_is_a_row() -> None:
    first, second = pair()
    stray = container(9, "ray-worker", "worker")
    status = judged([first, second.model_copy(update={"containers": (*second.containers, stray)})])
    assert status.rows[-1].reason == "tandem-test-host-9-ray-worker is not of this stack file"
    assert not status.is_well


def test_a_silent_host_is_one_row_with_its_ranks_and_the_others_are_shown() -> None:
    first, _ = pair()
    status = judged([first, HostStatus(name="host-2", problem="Connection timed out")])
    last = status.rows[-1]
    assert (last.state, last.ranks, last.role) == ("no answer", (1,), None)
    assert last.reason == "no answer: Connection timed out"
    assert (len(status.rows), status.is_seen) == (3, False)
    assert status.server_problem is None


def test_a_retired_host_is_a_row_and_is_not_waited_for() -> None:
    status = judged([pair()[0], HostStatus(name="host-2", skipped=True)])
    assert (status.rows[-1].state, status.rows[-1].ranks) == ("retired", (1,))
    assert status.is_seen
    assert status.is_well


def test_a_server_that_is_not_healthy_is_not_well() -> None:
    status = judged(pair(said=ServerStatus(problem="/health: 503")))
    assert (status.server_problem, status.is_well) == ("/health: 503", False)


def test_of_a_server_that_ended_its_container_is_the_reason() -> None:
    status = judged(pair(server={"state": "exited", "exit_code": 1}))
    assert status.server_problem == "its container does not run (exited)"


def test_a_head_that_is_silent_has_a_server_that_nobody_knows_of() -> None:
    _, second = pair()
    status = judged([HostStatus(name="host-1", problem="no answer"), second])
    assert status.server_problem == "its host does not answer"


def test_tokens_per_second_are_between_two_samples() -> None:
    then = Sample(at=5, prompt_tokens=100, generation_tokens=10)
    now = Sample(at=7, prompt_tokens=400, generation_tokens=11)
    load = judged(pair(said=ServerStatus(samples=(then, now)))).load
    assert (load.prompt_rate, load.generation_rate) == (150, 0.5)
    again = judged(pair(said=ServerStatus(samples=(now,))), then).load
    assert (again.prompt_rate, again.generation_rate) == (150, 0.5)


def test_of_one_moment_there_is_no_rate() -> None:
    then, now = Sample(at=5, prompt_tokens=100), Sample(at=5, prompt_tokens=300)
    load = judged(pair(said=ServerStatus(samples=(then, now)))).load
    assert load.prompt_rate is None


def test_a_server_that_started_anew_in_between_has_no_rate() -> None:
    then = Sample(at=5, prompt_tokens=100)
    for now in (Sample(at=7, prompt_tokens=3), Sample(at=1, prompt_tokens=300), Sample(at=7)):
        assert judged(pair(said=ServerStatus(samples=(now,))), then).load.prompt_rate is None


def test_the_server_that_is_asked_is_on_the_head() -> None:
    assert server_container(settings(2), "test") == "tandem-test-host-1-server"
