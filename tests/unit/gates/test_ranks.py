"""The ranks gate; connections are real ones on loopback, in this machine's own table."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tandem.errors import GateFailed
from tandem.gates.ranks import ranks
from tandem.gates.spec import RanksSpec
from tests.builders import ranks_spec

if TYPE_CHECKING:
    from tests.unit.gates.docker import FakeDocker

SERVER, RANK = "tandem-test-host-1-server", "tandem-test-host-2-rank"
ADDRESSES = ("127.0.0.1", "127.0.0.2")
BROKEN = (
    "tandem: the group is broken: 10.0.0.2: status 1; the command is ended\n"
    "tandem: the command ended: the group is broken: 10.0.0.2: status 1\n"
)
"""What a host writes whose ranks ended because those of another host did."""


@contextmanager
def joined(docker: FakeDocker, *, seconds: int = 10) -> Iterator[RanksSpec]:
    """Yield what the gate waits for, with both ranks joined until the block ends."""
    with ExitStack() as stack:
        master = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = master.getsockname()[1]
        for address in ADDRESSES:
            from_it = socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
            stack.enter_context(from_it)
            stack.enter_context(master.accept()[0])
        for number, name in enumerate((SERVER, RANK)):
            docker.arguments[name] = ["serve", str(number + 1)]
            docker.logs[name] = (
                f"INFO [parallel_state.py:1906] world_size=2 rank={number} local_rank=0 "
                f"distributed_init_method=tcp://127.0.0.1:{port} backend=gloo\n"
            )
        spec = ranks_spec(timeout_seconds=seconds)
        hosts = [
            replace(host, address=address)
            for host, address in zip(spec.hosts, ADDRESSES, strict=True)
        ]
        yield replace(spec, hosts=tuple(hosts), master_address="127.0.0.1", master_port=port)


def test_all_ranks_are_there(docker: FakeDocker, capsys: pytest.CaptureFixture[str]) -> None:
    with joined(docker) as spec:
        assert ranks(spec) == {"ranks": {"0": "host-1", "1": "host-2"}, "backend": "gloo"}
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"joined: 2 ranks after \d s\n", said.err)


def test_a_rank_that_is_missing_is_named_at_the_deadline_with_the_end_of_its_log(
    docker: FakeDocker,
) -> None:
    with joined(docker, seconds=0) as spec:
        docker.logs[RANK] = "Loading the model\n"
        with pytest.raises(GateFailed) as failed:
            ranks(spec)
    assert str(failed.value).splitlines() == [
        "not joined after 0 s: rank 1 on host-2 has not logged that it joins",
        f"{RANK} on host-2 is running",
        "--- last lines of its log ---",
        "Loading the model",
    ]


def test_a_rank_that_comes_late_is_waited_for(
    docker: FakeDocker, capsys: pytest.CaptureFixture[str]
) -> None:
    with joined(docker) as spec:
        line = docker.logs.pop(RANK)

        def restarts(container: str, look: int) -> int:
            if look > 3:
                docker.logs[RANK] = line
            return 0

        docker.restarts = restarts
        ranks(spec)
    assert "waiting: rank 1 on host-2 has not logged that it joins\n" in capsys.readouterr().err


def test_a_container_that_ends_fails_the_gate_at_once(docker: FakeDocker) -> None:
    with joined(docker) as spec:
        docker.states[RANK] = {"Status": "exited", "ExitCode": 1}
        with pytest.raises(GateFailed, match=rf"^{RANK} on host-2 is exited \(exit status 1\)"):
            ranks(spec)


def test_of_containers_that_ended_together_the_cause_is_shown(docker: FakeDocker) -> None:
    with joined(docker) as spec:
        docker.logs[SERVER] = BROKEN
        docker.logs[RANK] = "ValueError: no such flag\n"
        docker.restarts = lambda container, look: look
        with pytest.raises(GateFailed, match="ValueError: no such flag"):
            ranks(spec)


def test_a_rank_that_met_the_server_of_before_may_start_again(docker: FakeDocker) -> None:
    with joined(docker) as spec:
        line, docker.logs[RANK] = docker.logs[RANK], BROKEN

        def restarts(container: str, look: int) -> int:
            if look > 3:
                docker.logs[RANK] = BROKEN + line
            return int(container == RANK and look > 1)

        docker.restarts = restarts
        assert ranks(spec)["backend"] == "gloo"


@pytest.mark.parametrize(
    ("log", "status"),
    [
        (BROKEN + "tandem: the command ended: exit status 1\n", "running"),
        (BROKEN + "tandem: stays down after 5 restarts\n", "exited"),
    ],
)
def test_what_ended_by_itself_later_or_stays_down_fails_the_gate(
    docker: FakeDocker, log: str, status: str
) -> None:
    with joined(docker) as spec:
        docker.logs[RANK] = log
        docker.states[RANK] = {"Status": status}
        docker.restarts = lambda container, look: look if container == RANK else 0
        with pytest.raises(GateFailed, match=rf"^{RANK} on host-2 is {status}"):
            ranks(spec)


@pytest.mark.parametrize("seconds", [0, 10])
def test_other_arguments_are_not_waited_for(docker: FakeDocker, seconds: int) -> None:
    with joined(docker, seconds=seconds) as spec:
        docker.arguments[RANK] = ["serve", "3"]
        with pytest.raises(GateFailed, match="other arguments: 3 instead of 2"):
            ranks(spec)


def test_another_image_is_not_waited_for(docker: FakeDocker) -> None:
    with joined(docker) as spec:
        docker.images[RANK] = "sha256:another"
        with pytest.raises(GateFailed, match=r"not of one image: host-1 .*, host-2 sha256:another"):
            ranks(spec)


def test_a_host_that_does_not_answer_fails_the_gate(docker: FakeDocker) -> None:
    with joined(docker) as spec:
        docker.reach = lambda container, look: container != RANK
        with pytest.raises(GateFailed, match="host host-2 does not answer"):
            ranks(spec)
