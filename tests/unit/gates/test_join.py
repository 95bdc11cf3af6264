"""The join gate."""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING

import pytest

from tandem.errors import GateFailed
from tandem.gates.join import join
from tests.builders import join_spec

if TYPE_CHECKING:
    from tests.unit.gates.docker import FakeDocker

BOTH = {"10.0.0.1": [1], "10.0.0.2": [1]}
VERSIONS = {"python": platform.python_version(), "ray": "2.60.0", "vllm": "0.19.1"}
WORKER = "tandem-test-host-2-ray-worker"


def test_all_nodes_are_there(docker: FakeDocker, capsys: pytest.CaptureFixture[str]) -> None:
    docker.alive = BOTH
    assert join(join_spec()) == {
        "nodes": {"10.0.0.1": 1, "10.0.0.2": 1},
        "versions": VERSIONS,
    }
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"joined: 10\.0\.0\.1, 10\.0\.0\.2 after \d s\n", said.err)


def test_a_missing_node_is_named_at_the_deadline_with_the_end_of_its_log(
    docker: FakeDocker,
) -> None:
    docker.alive = {"10.0.0.1": [1]}
    with pytest.raises(GateFailed) as failed:
        join(join_spec(timeout_seconds=0))
    assert str(failed.value).splitlines() == [
        "not joined after 0 s: 10.0.0.2 has not joined",
        f"{WORKER} on host-2 is running",
        "--- last lines of its log ---",
        f"last words of {WORKER}",
    ]


def test_a_node_with_too_few_gpus_is_named_at_the_deadline(docker: FakeDocker) -> None:
    docker.alive = {"10.0.0.1": [1], "10.0.0.2": [0]}
    with pytest.raises(GateFailed, match=r"10\.0\.0\.2 offers 0 GPUs, not 1"):
        join(join_spec(timeout_seconds=0))


def test_an_undeclared_node_is_named_at_the_deadline(docker: FakeDocker) -> None:
    docker.alive = {"10.0.0.1": [1], "10.0.0.2": [1], "10.0.0.9": [1]}
    with pytest.raises(GateFailed, match=r"10\.0\.0\.9 joined undeclared"):
        join(join_spec(timeout_seconds=0))


def test_a_head_that_does_not_answer_is_told_at_the_deadline(docker: FakeDocker) -> None:
    with pytest.raises(GateFailed, match="no answer from Ray"):
        join(join_spec(timeout_seconds=0))


def test_a_container_that_never_started_ends_the_wait_at_once(docker: FakeDocker) -> None:
    docker.states[WORKER] = {"Status": "created", "ExitCode": 127, "Error": "no such device"}
    with pytest.raises(GateFailed) as failed:
        join(join_spec(timeout_seconds=10_000))
    assert str(failed.value).startswith(
        f"{WORKER} on host-2 is created (exit status 127): no such device\n"
    )
    assert docker.looks[WORKER] == 1


def test_a_container_that_is_gone_ends_the_wait_at_once(docker: FakeDocker) -> None:
    docker.states[WORKER] = {}
    with pytest.raises(GateFailed, match=f"is missing: Error: No such object: {WORKER}"):
        join(join_spec(timeout_seconds=10_000))


def test_hosts_whose_images_differ_are_told_apart(docker: FakeDocker) -> None:
    docker.alive = BOTH
    docker.versions["host-2"] = {"vllm": "0.18.0"}
    with pytest.raises(GateFailed) as failed:
        join(join_spec())
    assert str(failed.value) == (
        "hosts differ in what their image holds: "
        f"host-1: python {VERSIONS['python']}, ray 2.60.0, vllm 0.19.1; "
        f"host-2: python {VERSIONS['python']}, ray missing, vllm 0.18.0"
    )


def test_a_host_that_stays_unreachable_ends_the_wait_after_three_tries(
    docker: FakeDocker,
) -> None:
    docker.reach = lambda container, look: container != WORKER
    with pytest.raises(GateFailed) as failed:
        join(join_spec(timeout_seconds=10_000))
    assert str(failed.value) == "host host-2 does not answer: Connection timed out"
    assert docker.looks[WORKER] == 3


def test_a_host_that_is_lost_for_a_moment_does_not_end_the_wait(docker: FakeDocker) -> None:
    docker.reach = lambda container, look: look not in (1, 2, 4, 5)

    def restarts(container: str, look: int) -> int:
        docker.alive = BOTH if look == 6 else None
        return 0

    docker.restarts = restarts
    assert join(join_spec(timeout_seconds=10_000))["nodes"] == {"10.0.0.1": 1, "10.0.0.2": 1}


def test_where_ray_never_answers_the_end_of_the_heads_log_is_shown(docker: FakeDocker) -> None:
    with pytest.raises(GateFailed, match="last words of tandem-test-host-1"):
        join(join_spec(timeout_seconds=0))


def test_of_a_long_log_the_end_is_shown(docker: FakeDocker) -> None:
    docker.logs[WORKER] = "".join(f"line {number}\n" for number in range(100))
    docker.alive = {"10.0.0.1": [1]}
    with pytest.raises(GateFailed) as failed:
        join(join_spec(timeout_seconds=0))
    shown = str(failed.value).splitlines()[3:]
    assert shown == [f"line {number}" for number in range(60, 100)]


def test_an_address_that_begins_like_a_missing_one_is_not_blamed(docker: FakeDocker) -> None:
    docker.alive = {f"10.0.0.{n}": [1] for n in range(1, 12) if n != 10}
    with pytest.raises(GateFailed) as failed:
        join(join_spec(11, timeout_seconds=0))
    assert "last words of tandem-test-host-10-" in str(failed.value)
    assert "last words of tandem-test-host-1-" not in str(failed.value)


@pytest.mark.parametrize(
    ("status", "said", "why"),
    [
        (124, "", "no answer within 60 s"),
        (126, "OCI runtime exec failed: no space left\n", "OCI runtime exec failed: no space left"),
    ],
)
def test_a_container_that_tells_no_versions_is_named_with_dockers_reason(
    status: int, said: str, why: str, docker: FakeDocker
) -> None:
    docker.alive = BOTH
    docker.failures[WORKER] = (status, said)
    with pytest.raises(GateFailed) as failed:
        join(join_spec())
    assert str(failed.value) == (
        f"{WORKER} on host-2 can't tell its versions of Ray and vLLM: {why}"
    )
