"""The ready gate."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tandem.errors import GateFailed
from tandem.gates.ready import ready
from tandem.gates.spec import Record
from tandem.survey.starts import earlier_starts
from tandem.units import GIB
from tests.builders import ready_spec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.gates.conftest import FakeDocker

SERVER = "tandem-test-host-1-server"
WORKER = "tandem-test-host-2-ray-worker"


def answered(reasoning: str = "") -> str:
    return json.dumps({"state": "answered", "content": "Hello", "reasoning": reasoning})


def test_the_server_has_answered(docker: FakeDocker, capsys: pytest.CaptureFixture[str]) -> None:
    docker.answer = answered()
    assert ready(ready_spec()) == {"servedName": "model", "seconds": 0, "started": {}}
    assert capsys.readouterr().err == "model answered after 0 s\n"


def test_what_the_start_logged_is_told_and_kept_for_the_next_plan(
    docker: FakeDocker, tmp_path: Path
) -> None:
    docker.answer = answered()
    docker.log = (
        "Model loading took 58.0 GiB memory and 61.0 seconds\nAvailable KV cache memory: 30.0 GiB\n"
    )
    starts = tmp_path / "starts.json"
    started = {"weightsBytes": 58 * GIB, "kvBudgetBytes": 30 * GIB}
    for start in ({"model": "a"}, {"model": "b"}, {"model": "a"}):
        kept = Record(str(starts), start, 95 * GIB)
        assert ready(replace(ready_spec(), record=kept))["started"] == started
    known = earlier_starts(starts)
    assert [fact.start for fact in known] == [{"model": "b"}, {"model": "a"}]
    assert {(fact.weights_bytes, fact.non_kv_bytes) for fact in known} == {(58 * GIB, 65 * GIB)}


def test_a_start_that_logged_no_budget_leaves_no_record(docker: FakeDocker, tmp_path: Path) -> None:
    docker.answer = answered()
    docker.log = "Explicitly set (1.0/23.4) GiB for KV cache on node 0.\n"
    starts = tmp_path / "starts.json"
    spec = replace(ready_spec(), record=Record(str(starts), {}, GIB))
    assert ready(spec)["started"] == {"kvSetBytes": GIB}
    assert not starts.exists()


def test_a_server_that_stays_silent_is_told_at_the_deadline_with_the_end_of_its_log(
    docker: FakeDocker,
) -> None:
    with pytest.raises(GateFailed) as failed:
        ready(ready_spec(timeout_seconds=0))
    assert str(failed.value).splitlines() == [
        "no answer after 0 s",
        f"{SERVER} on host-1 is running",
        "--- last lines of its log ---",
        f"last words of {SERVER}",
    ]


def test_a_server_that_docker_restarted_ends_the_wait_with_the_end_of_its_log(
    docker: FakeDocker,
) -> None:
    docker.restarts = lambda container, look: int(container == SERVER and look >= 3)
    with pytest.raises(GateFailed) as failed:
        ready(ready_spec(timeout_seconds=10_000))
    assert docker.looks[SERVER] == 3
    assert str(failed.value).endswith(f"last words of {SERVER}")


@pytest.mark.parametrize("container", [SERVER, WORKER])
@pytest.mark.parametrize("status", ["exited", "restarting", "dead", "created"])
def test_a_container_that_ended_ends_the_wait_with_its_exit_status(
    docker: FakeDocker, container: str, status: str
) -> None:
    docker.states[container] = {"Status": status, "ExitCode": 2, "Error": ""}
    with pytest.raises(GateFailed) as failed:
        ready(ready_spec(timeout_seconds=10_000))
    first = str(failed.value).splitlines()[0]
    assert first.startswith(container)
    assert first.endswith(f"is {status} (exit status 2)")
    assert f"last words of {container}" in str(failed.value)


def test_restarts_before_the_gate_began_do_not_count(docker: FakeDocker) -> None:
    docker.restarts = lambda container, look: 5
    docker.answer = answered()
    assert ready(ready_spec())["servedName"] == "model"


def test_a_host_that_stays_unreachable_ends_the_wait_after_three_tries(
    docker: FakeDocker,
) -> None:
    docker.reach = lambda container, look: container == SERVER
    with pytest.raises(GateFailed, match="host host-2 does not answer: Connection timed out"):
        ready(ready_spec(timeout_seconds=10_000))
    assert docker.looks[WORKER] == 3


def test_a_parser_that_finds_no_reasoning_fails(docker: FakeDocker) -> None:
    docker.answer = answered()
    with pytest.raises(GateFailed, match="the answer has no reasoning: 'Hello'"):
        ready(ready_spec(expects_reasoning=True))


def test_a_parser_that_finds_reasoning_is_fine(docker: FakeDocker) -> None:
    docker.answer = answered("Hm.")
    assert ready(ready_spec(expects_reasoning=True))["servedName"] == "model"


def test_another_model_fails_at_once(docker: FakeDocker) -> None:
    docker.answer = json.dumps({"state": "other-model", "detail": "theirs"})
    with pytest.raises(GateFailed) as failed:
        ready(ready_spec(timeout_seconds=10_000))
    assert str(failed.value) == "http://10.0.0.1:8000 serves theirs, not model"


def test_a_chat_that_fails_is_told_in_the_servers_words(docker: FakeDocker) -> None:
    docker.answer = json.dumps({"state": "failed", "detail": "out of memory"})
    with pytest.raises(GateFailed) as failed:
        ready(ready_spec(timeout_seconds=10_000))
    assert str(failed.value) == (
        "http://10.0.0.1:8000 lists model but a chat failed: out of memory"
    )


def test_a_host_that_could_not_be_seen_at_first_is_not_taken_for_a_restart(
    docker: FakeDocker,
) -> None:
    def reach(container: str, look: int) -> bool:
        if look == 2:
            docker.answer = answered()
        return not (container == WORKER and look == 1)

    docker.restarts = lambda container, look: 2 * (container == WORKER)
    docker.reach = reach
    assert ready(ready_spec())["servedName"] == "model"


def test_two_unseen_containers_of_one_host_are_one_failure_a_look(docker: FakeDocker) -> None:
    head = "tandem-test-host-1-ray-head"
    spec = ready_spec()
    spec = replace(spec, others=(replace(spec.server, container=head), *spec.others))

    def reach(container: str, look: int) -> bool:
        if look == 3:
            docker.answer = answered()
        return not (container in (SERVER, head) and look <= 2)

    docker.reach = reach
    assert ready(spec)["servedName"] == "model"
