"""vLLM's own processes over several hosts, without Ray."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tandem.findings import Severity
from tandem.gates.spec import RanksSpec
from tandem.planner import ContainerSpec, Plan
from tandem.planner.layout import layout
from tandem.planner.memory.hosts import HostMemory
from tandem.planner.memory.starts import start_of
from tandem.planner.rules import check
from tandem.survey.docker import ContainerFacts
from tandem.survey.facts import ImageContent
from tandem.survey.network import Listener
from tandem.units import GIB
from tests import builders
from tests.builders import DIGEST, settings

MP: dict[str, Any] = {"backend": "mp"}
SPLIT = {"serve.tensorParallel": 2, "serve.pipelineParallel": 2}
NODE = ("--nnodes", "--node-rank", "--master-addr", "--master-port")


def plan(hosts: int = 2, changes: dict[str, Any] | None = None) -> Plan:
    return builders.plan(hosts, MP | (changes or {}))


def containers(hosts: int = 2, changes: dict[str, Any] | None = None) -> tuple[ContainerSpec, ...]:
    return plan(hosts, changes).containers


def codes(hosts: int, changes: dict[str, Any]) -> list[str]:
    """Return what the rules refuse."""
    found = check(settings(hosts, MP | changes))
    return [finding.code for finding in found if finding.severity is Severity.ERROR]


def value(spec: ContainerSpec, flag: str) -> str:
    """Return the word after a flag that is there once."""
    assert spec.command.count(flag) == 1
    return spec.command[spec.command.index(flag) + 1]


def test_every_other_host_has_its_ranks_and_the_server_starts_last() -> None:
    made = containers(3)
    assert [(spec.name, spec.role, spec.kind, spec.ranks) for spec in made] == [
        ("tandem-test-host-2-rank", "rank", "VllmRank", (1,)),
        ("tandem-test-host-3-rank", "rank", "VllmRank", (2,)),
        ("tandem-test-host-1-server", "server", "VllmServer", (0,)),
    ]


def test_every_host_runs_the_same_words_but_for_its_node_and_the_api() -> None:
    args = ["--enable-prefix-caching", "--tool-call-parser=hermes", "--enable-auto-tool-choice"]
    rank, server = containers(2, {"serve.maxModelLen": 512, "serve.args": args})
    assert [value(server, flag) for flag in NODE] == ["2", "0", "10.0.0.1", "29501"]
    assert [value(rank, flag) for flag in NODE] == ["2", "1", "10.0.0.1", "29501"]
    assert value(server, "--distributed-executor-backend") == "mp"
    words = list(server.command)
    for word in ("--host", "10.0.0.1", "--port", "8000", *args[1:]):
        words.remove(word)
    words[words.index("--node-rank") + 1] = "1"
    assert (*words, "--headless") == rank.command


def test_a_declared_port_is_the_ranks_and_the_next_one_says_which_start_it_is() -> None:
    rank, server = containers(2, {"mp.port": 30000})
    assert value(rank, "--master-port") == "30000"
    for number, spec in enumerate((server, rank)):
        words = spec.entrypoint or ()
        assert "--at=10.0.0.1:30001" in words
        assert f"--number={number}" in words
        assert "--hosts=10.0.0.1,10.0.0.2" in words
    assert server.labels["dev.tandem.ports"] == "8000,30000,30001"
    assert rank.labels["dev.tandem.ports"] == ""


def test_each_start_of_vllm_is_counted_and_belongs_to_a_generation() -> None:
    rank, server = containers(2)
    for spec, inside in ((rank, ("vllm", "serve")), (server, ("python3", "/tandem/liveness.py"))):
        words = spec.entrypoint or ()
        assert words[:2] == ("python3", "/tandem/supervise.py")
        around = words.index("/tandem/generation.py")
        command = words[words.index("--", around) + 1 :]
        assert command[:2] == inside
        programs = {word for word in words if word.startswith("/tandem/") and word.endswith(".py")}
        assert programs <= {upload.path for upload in spec.uploads}


@pytest.mark.parametrize(
    "changes",
    [{"serve.maxModelLen": 512}, {"serve.env": {"A": "1"}, "serve.args": []}, {"mp.port": 30000}],
    ids=str,
)
def test_what_was_declared_otherwise_is_another_group(changes: dict[str, Any]) -> None:
    def group(made: tuple[ContainerSpec, ...]) -> set[str]:
        words = [word for spec in made for word in spec.entrypoint or ()]
        return {word for word in words if word.startswith("--group=test-")}

    (before,), (after,) = group(containers(2)), group(containers(2, changes))
    assert before != after


@pytest.mark.parametrize(
    "changes",
    [
        {"serve.maxModelLen": 512},
        {"serve.env": {"A": "1"}},
        {"serve.port": 9000},
        {"rdma": "false"},
    ],
    ids=str,
)
def test_any_change_replaces_all_containers_together(changes: dict[str, Any]) -> None:
    *ranks, server = containers(3)
    *others, _ = containers(3, changes)
    assert len({rank.fingerprint for rank in ranks}) == 1
    assert ranks[0].fingerprint != others[0].fingerprint
    assert server.replaced_with == server.after == tuple(rank.name for rank in ranks)


def test_variables_of_the_server_are_on_every_host_and_each_has_its_own_address() -> None:
    changes = {"serve.env": {"A": "1"}, "hosts.1.env": {"NCCL_IB_HCA": "mlx5_1"}}
    rank, server = containers(2, changes)
    assert (rank.env["A"], server.env["A"]) == ("1", "1")
    assert (rank.env["VLLM_HOST_IP"], server.env["VLLM_HOST_IP"]) == ("10.0.0.2", "10.0.0.1")
    assert (rank.env["GLOO_SOCKET_IFNAME"], server.env["NCCL_SOCKET_IFNAME"]) == ("eth1", "eth0")
    assert rank.env["NCCL_IB_HCA"] == "mlx5_1"
    assert "NCCL_IB_HCA" not in server.env


def test_nothing_of_ray_is_there_and_the_image_is_not_asked_for_it() -> None:
    made = plan(2)
    assert not made.image.needs_ray
    for spec in made.containers:
        said = json.dumps([spec.entrypoint, spec.command, spec.env, [u.path for u in spec.uploads]])
        assert "ray" not in said.lower().replace("array", "")
    content = ImageContent(digest=DIGEST, python="3.12", vllm="0.32.0", ray=None)
    assert check(settings(2, MP), content) == []


def test_the_api_key_stays_with_the_server() -> None:
    rank, server = containers(2, {"apiKey": "sesame"})
    assert server.secret_uploads and not rank.secret_uploads
    assert "/tandem/with_key.py" not in (rank.entrypoint or ())


@pytest.mark.parametrize(
    ("version", "args", "expected"),
    [
        ("0.17.1", [], None),
        ("0.32.0", [], "90"),
        ("0.32.0", ["--distributed-timeout-seconds=1200"], None),
    ],
)
def test_ranks_wait_for_each_other_as_long_as_the_up_does_where_vllm_can(
    version: str, args: list[str], expected: str | None
) -> None:
    changes = {"image.vllm": version, "serve.args": args, "mp.joinTimeout": "90s"}
    for spec in containers(2, changes):
        words = spec.command
        flag = "--distributed-timeout-seconds"
        assert (value(spec, flag) if flag in words else None) == expected


def test_stages_land_on_hosts_as_vllm_numbers_the_ranks() -> None:
    two = settings(2, MP | SPLIT | {"hosts.0.gpus": 2, "hosts.1.gpus": 2})
    assert [(r.host, r.stage) for r in layout(two)] == [
        ("host-1", 0),
        ("host-1", 0),
        ("host-2", 1),
        ("host-2", 1),
    ]
    four = settings(4, MP | SPLIT | {"hosts.1.address": "10.0.0.9"})
    assert [r.host for r in layout(four)] == ["host-1", "host-2", "host-3", "host-4"]


def test_the_join_gate_waits_for_every_rank_on_its_host() -> None:
    changes = SPLIT | {"hosts.0.gpus": 2, "hosts.1.gpus": 2, "mp.joinTimeout": "3m"}
    made = plan(2, changes)
    join = made.join
    assert isinstance(join, RanksSpec)
    assert [(host.watched.host, host.address, host.ranks) for host in join.hosts] == [
        ("host-1", "10.0.0.1", (0, 1)),
        ("host-2", "10.0.0.2", (2, 3)),
    ]
    assert (join.master_address, join.master_port, join.timeout_seconds) == (
        "10.0.0.1",
        29501,
        180,
    )
    words = {spec.host: spec.command for spec in made.containers}
    assert {host.watched.host: host.words for host in join.hosts} == words
    assert RanksSpec.from_json(join.to_json()) == join
    assert [watched.container for watched in made.ready.others] == ["tandem-test-host-2-rank"]


@pytest.mark.parametrize(
    ("hosts", "changes", "expected"),
    [
        (2, {"hosts.1.gpus": 2, "serve.tensorParallel": 3}, ["hosts-uneven"]),
        (4, {"serve.tensorParallel": 2}, ["ranks-uneven"]),
        (2, {"image.vllm": "0.11.2"}, ["backend-needs-newer-vllm"]),
        (2, {"image.vllm": "0.12.0"}, []),
        (2, {"serve.port": 29501}, ["port-twice"]),
        (2, {"serve.port": 29502}, ["port-twice"]),
        (2, {"mp.port": 12000}, []),
        (2, {"serve.args": ["-dp", "2"]}, ["data-parallel-over-hosts"]),
        (2, {"serve.args": ["--data-parallel-size=1"]}, []),
        (2, {"serve.args": ["-dpl=1"]}, []),
        (2, {"serve.args": ["--data-parallel-hybrid-lb"]}, ["data-parallel-over-hosts"]),
        (2, {"serve.env": {"VLLM_LOGGING_LEVEL": "WARNING"}}, ["log-too-quiet"]),
        (2, {"serve.env": {"VLLM_LOGGING_LEVEL": "debug"}}, []),
        (2, {"image.entrypoint": "image"}, ["backend-needs-entrypoint"]),
        (1, {"serve.port": 29501, "serve.args": ["-dp", "2"]}, []),
    ],
    ids=str,
)
def test_what_it_can_not_do_is_refused(
    hosts: int, changes: dict[str, Any], expected: list[str]
) -> None:
    assert codes(hosts, changes) == expected


@pytest.mark.parametrize("backend", ["ray", "mp"])
@pytest.mark.parametrize(
    "words", [["--nnodes=2"], ["-n", "2"], ["-r", "1"], ["--master-port=1"], ["--headless"]]
)
def test_its_flags_are_reserved_under_any_backend(backend: str, words: list[str]) -> None:
    changes = {"backend": backend, "serve.args": words}
    found = [finding.code for finding in check(settings(2, changes))]
    assert found == ["reserved-argument"]


@pytest.mark.parametrize("port", [29501, 29502])
def test_a_port_that_somebody_listens_on_is_refused(port: int) -> None:
    first = {"listeners": (Listener(port=port),)}
    (finding,) = builders.findings(2, first, changes=MP)
    assert (finding.code, finding.path) == ("port-taken", "tandem:mp.port")
    assert f"port {port} of host-1" in finding.message


def test_a_port_that_another_deployment_has_is_refused_though_it_does_not_listen() -> None:
    other = ContainerFacts(id="1" * 64, name="other", stack="other", ports=frozenset({29501}))
    (finding,) = builders.findings(2, {"containers": (other,)}, changes=MP)
    assert str(finding) == (
        "tandem:mp.port: other of the deployment other has port 29501 of host-1 already; "
        "stop it or choose another port [port-taken]"
    )
    own = other.model_copy(update={"stack": "test"})
    assert builders.findings(2, {"containers": (own,)}, changes=MP) == []


def test_a_start_is_told_from_one_with_ray() -> None:
    memory = {
        host.name: HostMemory(total=80 * GIB, unified=False, device="H100")
        for host in settings(2).hosts
    }
    with_ray, with_mp = (start_of(settings(2, one), DIGEST, memory) for one in ({}, MP))
    assert with_ray is not None
    assert with_mp == with_ray | {"backend": "mp"}
    alone, alone_with_mp = (settings(1, one) for one in ({}, MP))
    one = {"host-1": memory["host-1"]}
    assert start_of(alone, DIGEST, one) == start_of(alone_with_mp, DIGEST, one)


def test_a_single_host_is_the_same_under_both() -> None:
    assert builders.plan(1, MP).containers == builders.plan(1).containers
