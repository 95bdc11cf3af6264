"""The ready gate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from tandem.errors import GateFailed
from tandem.gates import ready as gate
from tandem.gates.ready import ready
from tandem.gates.spec import ReadySpec, Record
from tandem.survey.starts import earlier_starts
from tandem.units import GIB
from tests.api import chat, served
from tests.builders import ready_spec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.gates.docker import FakeDocker

SERVER = "tandem-test-host-1-server"
WORKER = "tandem-test-host-2-ray-worker"


KEY = "sesame"


@dataclass
class Api:
    """The server's API; it is silent until it has something to answer."""

    url: str = ""
    answers: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def says(self, **message: str) -> None:
        self.answers.update(chat({"content": "Hello", **message}))

    def spec(self, **changes: Any) -> ReadySpec:
        """Return what the gate is told."""
        return replace(ready_spec(), url=self.url, **changes)


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    with served(made.answers) as made.url:
        yield made


def test_the_server_has_answered(
    docker: FakeDocker, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.says()
    result = ready(api.spec())
    assert result == {"servedName": "model", "seconds": result["seconds"], "started": {}}
    assert result["seconds"] in range(10)
    assert re.fullmatch(r"model answered after \d s\n", capsys.readouterr().err)


def test_the_key_is_sent_to_an_api_that_asks_for_it(docker: FakeDocker, tmp_path: Path) -> None:
    (tmp_path / "api-key").write_text(KEY)
    with served(chat({"content": "Hello"}), KEY) as url:
        spec = replace(ready_spec(), url=url, key_file=str(tmp_path / "api-key"))
        assert ready(spec)["servedName"] == "model"
        with pytest.raises(GateFailed, match="no answer after 0 s"):
            ready(replace(spec, key_file=None, timeout_seconds=0))


def test_a_container_that_ends_while_the_server_is_asked_ends_the_wait(
    docker: FakeDocker, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "WATCH_SECONDS", 0.1)
    monkeypatch.setattr(gate, "PATIENCE_SECONDS", 60)
    docker.restarts = lambda container, look: int(look > 1)
    with pytest.raises(GateFailed, match="it ended and was restarted"):
        ready(api.spec())
    assert docker.looks[SERVER] == 2


def test_how_far_the_start_is_is_told_once(
    docker: FakeDocker, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    docker.logs[SERVER] = "INFO Loading safetensors checkpoint shards:  50% Completed\nother\n"

    def reach(container: str, look: int) -> bool:
        if look == 3:
            api.says()
        return True

    docker.reach = reach
    ready(api.spec())
    first, *_ = said = capsys.readouterr().err.splitlines()
    assert first.endswith(" s  Loading safetensors checkpoint shards:  50%")
    assert len(said) == 2


def test_what_the_start_logged_is_told_and_kept_for_the_next_plan(
    docker: FakeDocker, api: Api, tmp_path: Path
) -> None:
    api.says()
    docker.logs[SERVER] = (
        "Model loading took 58.0 GiB memory and 61.0 seconds\nAvailable KV cache memory: 30.0 GiB\n"
    )
    starts = tmp_path / "starts.json"
    started = {"weightsBytes": 58 * GIB, "kvBudgetBytes": 30 * GIB}
    for start in ({"model": "a"}, {"model": "b"}, {"model": "a"}):
        kept = Record(str(starts), start, 95 * GIB)
        assert ready(api.spec(record=kept))["started"] == started
    known = earlier_starts(starts)
    assert [fact.start for fact in known] == [{"model": "b"}, {"model": "a"}]
    assert {(fact.weights_bytes, fact.non_kv_bytes) for fact in known} == {(58 * GIB, 65 * GIB)}


def test_a_start_that_logged_no_budget_leaves_no_record(
    docker: FakeDocker, api: Api, tmp_path: Path
) -> None:
    api.says()
    docker.logs[SERVER] = "Explicitly set (1.0/23.4) GiB for KV cache on node 0.\n"
    starts = tmp_path / "starts.json"
    spec = api.spec(record=Record(str(starts), {}, GIB))
    assert ready(spec)["started"] == {"kvSetBytes": GIB}
    assert not starts.exists()


def test_a_server_that_stays_silent_is_told_at_the_deadline_with_the_end_of_its_log(
    docker: FakeDocker, api: Api
) -> None:
    with pytest.raises(GateFailed) as failed:
        ready(api.spec(timeout_seconds=0))
    assert str(failed.value).splitlines() == [
        "no answer after 0 s",
        f"{SERVER} on host-1 is running",
        "--- last lines of its log ---",
        f"last words of {SERVER}",
    ]


def test_a_server_that_docker_restarted_ends_the_wait_with_the_end_of_its_log(
    docker: FakeDocker, api: Api
) -> None:
    docker.restarts = lambda container, look: int(container == SERVER and look >= 3)
    with pytest.raises(GateFailed) as failed:
        ready(api.spec(timeout_seconds=10_000))
    assert docker.looks[SERVER] == 3
    assert str(failed.value).endswith(f"last words of {SERVER}")


@pytest.mark.parametrize("container", [SERVER, WORKER])
@pytest.mark.parametrize("status", ["exited", "restarting", "dead", "created"])
def test_a_container_that_ended_ends_the_wait_with_its_exit_status(
    docker: FakeDocker, api: Api, container: str, status: str
) -> None:
    docker.states[container] = {"Status": status, "ExitCode": 2, "Error": ""}
    with pytest.raises(GateFailed) as failed:
        ready(api.spec(timeout_seconds=10_000))
    first = str(failed.value).splitlines()[0]
    assert first.startswith(container)
    assert first.endswith(f"is {status} (exit status 2)")
    assert f"last words of {container}" in str(failed.value)


def test_restarts_before_the_gate_began_do_not_count(docker: FakeDocker, api: Api) -> None:
    docker.restarts = lambda container, look: 5
    api.says()
    assert ready(api.spec())["servedName"] == "model"


def test_a_host_that_stays_unreachable_ends_the_wait_after_three_tries(
    docker: FakeDocker, api: Api
) -> None:
    docker.reach = lambda container, look: container == SERVER
    with pytest.raises(GateFailed, match="host host-2 does not answer: Connection timed out"):
        ready(api.spec(timeout_seconds=10_000))
    assert docker.looks[WORKER] == 3


def test_a_parser_that_finds_no_reasoning_fails(docker: FakeDocker, api: Api) -> None:
    api.says()
    with pytest.raises(GateFailed, match="the answer has no reasoning: 'Hello'"):
        ready(api.spec(expects_reasoning=True))


def test_a_parser_that_finds_reasoning_is_fine(docker: FakeDocker, api: Api) -> None:
    api.says(reasoning="Hm.")
    assert ready(api.spec(expects_reasoning=True))["servedName"] == "model"


def test_another_model_fails_at_once(docker: FakeDocker, api: Api) -> None:
    api.answers["/v1/models"] = (200, {"data": [{"id": "theirs"}]})
    with pytest.raises(GateFailed) as failed:
        ready(api.spec(timeout_seconds=10_000))
    assert str(failed.value) == f"{api.url} serves theirs, not model"


def test_a_chat_that_fails_is_told_in_the_servers_words(docker: FakeDocker, api: Api) -> None:
    api.says()
    api.answers["/v1/chat/completions"] = (500, b"out of memory")
    with pytest.raises(GateFailed) as failed:
        ready(api.spec(timeout_seconds=10_000))
    assert str(failed.value) == f"{api.url} lists model but a chat failed: out of memory"


def test_a_host_that_could_not_be_seen_at_first_is_not_taken_for_a_restart(
    docker: FakeDocker, api: Api
) -> None:
    def reach(container: str, look: int) -> bool:
        if look == 2:
            api.says()
        return not (container == WORKER and look == 1)

    docker.restarts = lambda container, look: 2 * (container == WORKER)
    docker.reach = reach
    assert ready(api.spec())["servedName"] == "model"


def test_two_unseen_containers_of_one_host_are_one_failure_a_look(
    docker: FakeDocker, api: Api
) -> None:
    head = "tandem-test-host-1-ray-head"
    spec = api.spec()
    spec = replace(spec, others=(replace(spec.server, container=head), *spec.others))

    def reach(container: str, look: int) -> bool:
        if look == 3:
            api.says()
        return not (container in (SERVER, head) and look <= 2)

    docker.reach = reach
    assert ready(spec)["servedName"] == "model"
