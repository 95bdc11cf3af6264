"""The join contract, as the server's container waits for it."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tandem.remote import ray_contract

TWO = {"127.0.0.1": 1, "127.0.0.2": 1}
BOTH: ray_contract.Nodes = {"127.0.0.1": [1], "127.0.0.2": [1]}


@pytest.fixture(autouse=True)
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_contract, "POLL_SECONDS", 0)


@pytest.mark.parametrize(
    ("alive", "words"),
    [
        (BOTH, []),
        ({"127.0.0.1": [1]}, ["127.0.0.2 has not joined"]),
        ({**BOTH, "127.0.0.2": [None]}, ["127.0.0.2 does not answer, though Ray counts it"]),
        ({**BOTH, "127.0.0.2": [0]}, ["127.0.0.2 offers 0 GPUs, not 1"]),
        ({**BOTH, "127.0.0.2": [1, 1]}, ["127.0.0.2 has joined as 2 nodes, not as one"]),
        ({**BOTH, "127.0.0.2": [None, 1]}, ["127.0.0.2 has joined as 2 nodes, not as one"]),
        ({**BOTH, "127.0.0.9": [8]}, ["127.0.0.9 joined undeclared"]),
        ({}, ["127.0.0.1 has not joined", "127.0.0.2 has not joined"]),
    ],
)
def test_what_keeps_the_contract_from_holding(alive: ray_contract.Nodes, words: list[str]) -> None:
    assert ray_contract.differences(TWO, alive) == words


def test_the_wait_ends_when_the_last_node_joins_and_says_each_state_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[ray_contract.Nodes | Exception] = [
        ConnectionError("no head\nat all"),
        {"127.0.0.1": [1]},
        {"127.0.0.1": [1]},
        BOTH,
    ]

    def alive(address: str) -> ray_contract.Nodes:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(ray_contract, "alive_nodes", alive)
    assert ray_contract.wait("127.0.0.1:6379", TWO, 10) == BOTH
    assert capsys.readouterr().err.splitlines() == [
        "waiting: no Ray head at 127.0.0.1:6379: no head",
        "waiting: 127.0.0.2 has not joined",
    ]


def test_the_wait_gives_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_contract, "alive_nodes", lambda address: {"127.0.0.1": [1]})
    assert ray_contract.wait("127.0.0.1:6379", TWO, 0.05) == {"127.0.0.1": [1]}


STAND_IN_RAY = """
calls = []
def init(**options): calls.append("init")
def is_initialized(): return bool(calls)
def shutdown(): calls.clear()
def nodes(): return {nodes}
"""


@pytest.fixture
def ports() -> Iterator[dict[str, int]]:
    """A port by address that takes connections, as every node of Ray has one."""
    with ExitStack() as stack:
        yield {
            address: stack.enter_context(socket.create_server((address, 0))).getsockname()[1]
            for address in TWO
        }


def node(address: str, port: int, *, alive: bool = True) -> dict[str, object]:
    """Return a node with one GPU as Ray lists it."""
    place = {"NodeManagerAddress": address, "NodeManagerPort": port}
    return {"Alive": alive, **place, "Resources": {"GPU": 1.0}}


def run(folder: Path, ports: dict[str, int], *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program as in a container, with a stand-in of Ray that knows these nodes."""
    nodes = [node(address, port) for address, port in ports.items()]
    dead = node("127.0.0.8", 1, alive=False)
    (folder / "ray.py").write_text(STAND_IN_RAY.format(nodes=[*nodes, dead]))
    return subprocess.run(
        [sys.executable, ray_contract.__file__, "--address=127.0.0.1:6379", *words],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(folder)},
        timeout=20,
        check=False,
    )


NODES = ("--node=127.0.0.1=1", "--node=127.0.0.2=1")


def test_the_program_becomes_the_command_when_the_contract_holds(
    tmp_path: Path, ports: dict[str, int]
) -> None:
    done = run(tmp_path, ports, *NODES, "--", "echo", "served", "--port", "--", "1")
    assert (done.returncode, done.stdout.startswith("served --port")) == (0, True)


def test_the_program_does_not_run_the_command_when_the_contract_does_not_hold(
    tmp_path: Path, ports: dict[str, int]
) -> None:
    del ports["127.0.0.2"]
    done = run(tmp_path, ports, *NODES, "--timeout=1", "--", "echo", "served")
    assert (done.returncode, done.stdout) == (1, "")
    assert "waiting: 127.0.0.2 has not joined" in done.stderr
    assert "the declared Ray nodes did not join in time" in done.stderr


def test_a_node_that_was_killed_and_is_still_counted_has_not_joined(
    tmp_path: Path, ports: dict[str, int]
) -> None:
    with socket.create_server(("127.0.0.2", 0)) as killed:
        ports["127.0.0.2"] = killed.getsockname()[1]
    done = run(tmp_path, ports, *NODES, "--timeout=1", "--", "echo", "served")
    assert (done.returncode, done.stdout) == (1, "")
    assert "waiting: 127.0.0.2 does not answer, though Ray counts it" in done.stderr


def test_the_report_lists_the_nodes_that_are_alive(tmp_path: Path, ports: dict[str, int]) -> None:
    assert json.loads(run(tmp_path, ports, "--report", *NODES).stdout) == BOTH


def test_the_report_waits_for_the_declared_nodes_and_then_lists_those_that_are_there(
    tmp_path: Path, ports: dict[str, int]
) -> None:
    del ports["127.0.0.2"]
    done = run(tmp_path, ports, "--report", *NODES, "--timeout=0.1")
    assert json.loads(done.stdout) == {"127.0.0.1": [1]}
    assert done.stderr.splitlines() == ["waiting: 127.0.0.2 has not joined"]


def test_the_versions_name_python_ray_and_vllm(tmp_path: Path) -> None:
    found = json.loads(run(tmp_path, {}, "--versions").stdout)
    assert found == {"python": sys.version.split()[0], "ray": "missing", "vllm": "missing"}


def test_an_error_of_rays_without_words_is_no_reason_to_give_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def alive(address: str) -> ray_contract.Nodes:
        raise RuntimeError

    monkeypatch.setattr(ray_contract, "alive_nodes", alive)
    monkeypatch.setattr(ray_contract, "POLL_SECONDS", 0)
    assert ray_contract.wait("a", {"x": 1}, 0.05) is None
