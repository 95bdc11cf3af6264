"""The join contract, as the server's container waits for it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tandem.remote import ray_contract

TWO = {"10.0.0.1": 1, "10.0.0.2": 1}
BOTH = {"10.0.0.1": [1], "10.0.0.2": [1]}


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_contract, "POLL_SECONDS", 0)


@pytest.mark.parametrize(
    ("alive", "words"),
    [
        (BOTH, []),
        ({"10.0.0.1": [1]}, ["10.0.0.2 has not joined"]),
        ({**BOTH, "10.0.0.2": [0]}, ["10.0.0.2 offers 0 GPUs, not 1"]),
        ({**BOTH, "10.0.0.2": [1, 1]}, ["10.0.0.2 has joined as 2 nodes, not as one"]),
        ({**BOTH, "10.0.0.9": [8]}, ["10.0.0.9 joined undeclared"]),
        ({}, ["10.0.0.1 has not joined", "10.0.0.2 has not joined"]),
    ],
)
def test_what_keeps_the_contract_from_holding(
    alive: dict[str, list[int]], words: list[str]
) -> None:
    assert ray_contract.differences(TWO, alive) == words


def test_the_wait_ends_when_the_last_node_joins_and_says_each_state_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[dict[str, list[int]] | Exception] = [
        ConnectionError("no head\nat all"),
        {"10.0.0.1": [1]},
        {"10.0.0.1": [1]},
        BOTH,
    ]

    def alive(address: str) -> dict[str, list[int]]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(ray_contract, "alive_nodes", alive)
    assert ray_contract.wait("10.0.0.1:6379", TWO, 10) == BOTH
    assert capsys.readouterr().err.splitlines() == [
        "waiting: no Ray head at 10.0.0.1:6379: no head",
        "waiting: 10.0.0.2 has not joined",
    ]


def test_the_wait_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_contract, "alive_nodes", lambda address: {"10.0.0.1": [1]})
    assert ray_contract.wait("10.0.0.1:6379", TWO, 0.05) == {"10.0.0.1": [1]}


STAND_IN_RAY = """
calls = []
def init(**options): calls.append("init")
def is_initialized(): return bool(calls)
def shutdown(): calls.clear()
def nodes(): return {nodes}
"""


def run(folder: Path, alive: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program as in a container, with a stand-in of Ray that knows so many nodes."""
    nodes = [
        {"Alive": True, "NodeManagerAddress": f"10.0.0.{n}", "Resources": {"GPU": 1.0}}
        for n in range(1, alive + 1)
    ]
    dead = {"Alive": False, "NodeManagerAddress": "10.0.0.8", "Resources": {"GPU": 1.0}}
    (folder / "ray.py").write_text(STAND_IN_RAY.format(nodes=[*nodes, dead]))
    return subprocess.run(
        [sys.executable, ray_contract.__file__, "--address=10.0.0.1:6379", *words],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(folder)},
        timeout=20,
        check=False,
    )


NODES = ("--node=10.0.0.1=1", "--node=10.0.0.2=1")


def test_the_program_becomes_the_command_when_the_contract_holds(tmp_path: Path) -> None:
    done = run(tmp_path, 2, *NODES, "--", "echo", "served", "--port", "--", "1")
    assert (done.returncode, done.stdout.startswith("served --port")) == (0, True)


def test_the_program_does_not_run_the_command_when_the_contract_does_not_hold(
    tmp_path: Path,
) -> None:
    done = run(tmp_path, 1, *NODES, "--timeout=0.1", "--", "echo", "served")
    assert (done.returncode, done.stdout) == (1, "")
    assert "waiting: 10.0.0.2 has not joined" in done.stderr
    assert "the declared Ray nodes did not join in time" in done.stderr


def test_the_report_lists_the_nodes_that_are_alive(tmp_path: Path) -> None:
    assert json.loads(run(tmp_path, 2, "--report", *NODES).stdout) == BOTH


def test_the_report_waits_for_the_declared_nodes_and_then_lists_those_that_are_there(
    tmp_path: Path,
) -> None:
    done = run(tmp_path, 1, "--report", *NODES, "--timeout=0.1")
    assert json.loads(done.stdout) == {"10.0.0.1": [1]}
    assert done.stderr.splitlines() == ["waiting: 10.0.0.2 has not joined"]


def test_the_versions_name_python_ray_and_vllm(tmp_path: Path) -> None:
    found = json.loads(run(tmp_path, 0, "--versions").stdout)
    assert found == {"python": sys.version.split()[0], "ray": "missing", "vllm": "missing"}


def test_an_error_of_rays_without_words_is_no_reason_to_give_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def alive(address: str) -> dict[str, list[int]]:
        raise RuntimeError

    monkeypatch.setattr(ray_contract, "alive_nodes", alive)
    monkeypatch.setattr(ray_contract, "POLL_SECONDS", 0)
    assert ray_contract.wait("a", {"x": 1}, 0.05) is None
