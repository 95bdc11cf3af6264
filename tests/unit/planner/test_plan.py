"""The whole plan."""

from typing import Any

import pytest
from pydantic import ValidationError

from tandem.errors import RefusedPlan
from tandem.gates.spec import JoinSpec
from tandem.planner import make_plan
from tandem.planner.specs import ContainerSpec
from tandem.survey.facts import Facts, ModelFacts
from tandem.survey.model_folder import ModelFolder
from tests.builders import DIGEST, facts, plan, settings


def ray(changes: dict[str, Any] | None = None) -> tuple[ContainerSpec, ...]:
    """Return Ray's head and worker."""
    return plan(2, changes).containers[:-1]


@pytest.mark.parametrize("field", ["stack", "hosts", "endpoint"])
def test_a_plan_cannot_be_changed(field: str) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(plan(2), field, "another")


@pytest.mark.parametrize("field", ["name", "env", "command"])
def test_a_container_of_a_plan_cannot_be_changed(field: str) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(plan(2).server, field, "another")


def test_the_same_settings_give_the_same_plan() -> None:
    assert plan(3) == plan(3)


@pytest.mark.parametrize(
    "changes",
    [
        {"hosts.1.env": {"NCCL_DEBUG": "INFO"}},
        {"hosts.1.address": "10.0.0.9"},
        {"rdma": "false"},
        {"shmSize": "1GiB"},
        {"ray.port": 7000},
    ],
    ids=str,
)
def test_what_changes_ray_replaces_all_of_it(changes: dict[str, Any]) -> None:
    (head, worker), (head_before, _) = ray(changes), ray()
    assert head.fingerprint != head_before.fingerprint
    assert worker.replaced_with == head.name


@pytest.mark.parametrize(
    "changes",
    [
        {"serve.maxModelLen": 512},
        {"serve.args": ["--seed", "1"]},
        {"serve.env": {"A": "1"}},
        {"serve.port": 9000},
        {"model.servedName": "short"},
    ],
    ids=str,
)
def test_what_changes_the_server_alone_leaves_ray_running(changes: dict[str, Any]) -> None:
    assert ray(changes) == ray()
    assert plan(2, changes).server != plan(2).server


def test_a_plan_that_cannot_work_is_refused_with_every_error_and_no_warning() -> None:
    declared = settings(2, {"serve.tensorParallel": 3, "image.reference": "vllm:1"})
    with pytest.raises(RefusedPlan) as refused:
        make_plan(declared, facts(declared, {"model": ModelFolder()}), "test")
    assert [f.code for f in refused.value.findings] == ["gpus-too-few", "model-missing"]
    assert len(str(refused.value).splitlines()) == 2


def test_a_warning_stops_nothing_and_is_kept() -> None:
    made = plan(2, {"serve.tensorParallel": 1, "image.reference": "vllm:1"})
    assert [f.code for f in made.warnings] == ["gpus-idle", "tag-not-pinned"]


def test_a_config_that_lacks_a_key_leaves_memory_unweighed_and_stops_nothing() -> None:
    declared = settings(1)
    known = ModelFacts(config={"model_type": "qwen3", "hidden_size": 64})
    made = make_plan(declared, facts(declared).model_copy(update={"model": known}), "test")
    assert [str(finding) for finding in made.warnings] == [
        "tandem:model.source: config.json: num_attention_heads is missing or 0; "
        "memory and shard widths are not checked [config-not-read]"
    ]
    assert made.fit is None


def test_a_tag_becomes_its_digest_on_every_host() -> None:
    made = plan(2, {"image.reference": "10.0.0.9:5000/vllm:1"})
    assert {host.image for host in made.hosts} == {f"10.0.0.9:5000/vllm@{DIGEST}"}


def test_without_a_survey_the_declared_digest_and_interfaces_are_used() -> None:
    declared = settings(2, {"hosts.0.interface": "e0", "hosts.1.interface": "e1"})
    made = make_plan(declared, Facts(), "test")
    assert [host.image for host in made.hosts] == [f"registry.example/vllm@{DIGEST}"] * 2
    assert made.server.env["NCCL_SOCKET_IFNAME"] == "e0"


def test_every_host_but_the_head_has_a_worker() -> None:
    made = plan(3)
    assert [(spec.role, spec.host) for spec in made.containers] == [
        ("head", "host-1"),
        ("worker", "host-2"),
        ("worker", "host-3"),
        ("server", "host-1"),
    ]


def test_a_single_host_has_no_ray_and_nothing_else_to_watch() -> None:
    made = plan(1)
    assert made.join is None
    assert made.ready.others == ()
    assert [spec.role for spec in made.containers] == ["server"]


def test_the_image_needs_ray_only_for_several_hosts() -> None:
    assert [plan(hosts).image.needs_ray for hosts in (1, 2)] == [False, True]


def test_the_join_gate_waits_for_exactly_the_declared_nodes() -> None:
    join = plan(2, {"hosts.1.gpus": 2, "ray.joinTimeout": "3m"}).join
    assert isinstance(join, JoinSpec)
    assert [(n.address, n.gpus) for n in join.nodes] == [("10.0.0.1", 1), ("10.0.0.2", 2)]
    assert [n.watched.container for n in join.nodes] == [
        "tandem-test-host-1-ray-head",
        "tandem-test-host-2-ray-worker",
    ]
    assert join.timeout_seconds == 180


def test_the_ready_gate_watches_the_server_and_every_ray_container() -> None:
    ready = plan(2, {"serve.args": ["--reasoning-parser=qwen3"]}).ready
    assert ready.server.container == "tandem-test-host-1-server"
    assert len(ready.others) == 2
    assert ready.expects_reasoning
    assert not plan(2).ready.expects_reasoning


def test_the_ready_gate_finds_the_key_where_the_servers_container_has_it() -> None:
    made = plan(2, {"apiKey": "sesame"})
    assert [made.ready.key_file] == [file.path for file in made.server.secret_uploads]
    assert plan(2).ready.key_file is None


@pytest.mark.parametrize(
    ("listen", "endpoint"),
    [
        ("0.0.0.0", "http://10.0.0.1:8000/v1"),
        ("192.168.1.10", "http://192.168.1.10:8000/v1"),
    ],
)
def test_the_endpoint_can_be_reached(listen: str, endpoint: str) -> None:
    assert plan(2, {"serve.listen": listen}).endpoint == endpoint


def test_the_endpoint_is_the_heads_address_unless_told_otherwise() -> None:
    assert plan(2).endpoint == "http://10.0.0.1:8000/v1"


def test_the_order_of_variables_changes_nothing() -> None:
    one, _ = ray({"hosts.1.env": {"A": "1", "B": "2"}})
    other, _ = ray({"hosts.1.env": {"B": "2", "A": "1"}})
    assert one.fingerprint == other.fingerprint


def test_what_an_image_holds_is_kept_by_its_name_and_digest() -> None:
    assert plan(2).image.record == f"stacks/images/vllm@{'a' * 12}.json"
