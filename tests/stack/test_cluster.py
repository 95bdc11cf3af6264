"""Plans as Pulumi resources, without the engine."""

from __future__ import annotations

import asyncio
import gc
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
import pulumi_docker
import pytest
import yaml
from pulumi.runtime import mocks, rpc

from components import Cluster
from components.canonical import go_duration
from components.containers import replacement_options
from tandem.planner import Plan, make_plan
from tests.builders import DIGEST, facts, load, plan

ROOT = Path(__file__).resolve().parent.parent.parent
CONTAINER = "docker:index/container:Container"
COMMAND = "command:local:Command"
PROVIDER = "pulumi:providers:docker"
PARTS = ("image", "model", "hashes")
"""What a host has to have before its files are compared."""


@dataclass
class Recorder(mocks.Mocks):
    """Records what would be created and answers as Docker does."""

    resources: list[mocks.MockResourceArgs] = field(default_factory=list)

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        return {}, None

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.resources.append(args)
        outputs = dict(args.inputs)
        if args.typ == "docker:index/remoteImage:RemoteImage":
            outputs["repoDigest"] = args.inputs["name"]
        if args.typ == COMMAND:
            outputs["stdout"] = "the-identity" if args.name.endswith("-identity") else "{}"
        return f"{args.name}-id", outputs


@dataclass(frozen=True)
class Built:
    """A plan and the resources that it became."""

    plan: Plan
    resources: tuple[mocks.MockResourceArgs, ...]

    def of(self, typ: str) -> dict[str, mocks.MockResourceArgs]:
        """Return the resources of a type by name."""
        return {args.name: args for args in self.resources if args.typ == typ}

    @property
    def containers(self) -> dict[str, mocks.MockResourceArgs]:
        """Return the containers by their name on the host."""
        return {args.inputs["name"]: args for args in self.of(CONTAINER).values()}


def sample(name: str) -> Plan:
    """Return the plan of a sample of stacks/ on healthy hosts."""
    text = (ROOT / "stacks" / f"Pulumi.{name}.yaml").read_text()
    declared = load(
        {
            key.removeprefix("tandem:"): value
            for key, value in yaml.safe_load(text)["config"].items()
        }
    )
    return make_plan(declared, facts(declared), name)


PLANS = {
    "lab": lambda: sample("lab"),
    "lab-single": lambda: sample("lab-single"),
    "four": lambda: plan(4, {"hosts.3.gpus": ["0"], "serve.maxModelLen": 512}, "four"),
}


def run(recorder: Recorder, stack: str, declare: Callable[[], object]) -> None:
    """Call ``declare`` as a Pulumi program and wait until all its resources are there."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    mocks.set_mocks(recorder, project="tandem", stack=stack, preview=False)
    pulumi.runtime.test(declare)()  # type: ignore[no-untyped-call]
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
    asyncio.set_event_loop(None)
    # Pulumi's mocks open an event loop in every thread and close none.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def build(made: Plan) -> Built:
    """Declare the plan's resources and wait until all are there."""
    recorder = Recorder()

    def declare() -> pulumi.Output[Any]:
        cluster = Cluster(made.stack, made)
        return pulumi.Output.all(cluster.endpoint, cluster.containers)

    run(recorder, made.stack, declare)
    return Built(made, tuple(recorder.resources))


@pytest.fixture(scope="module", params=PLANS)
def built(request: pytest.FixtureRequest) -> Built:
    return build(PLANS[request.param]())


@pytest.fixture(scope="module")
def four() -> Built:
    return build(PLANS["four"]())


def test_every_container_of_the_plan_is_declared_and_no_other(built: Built) -> None:
    assert set(built.containers) == {spec.name for spec in built.plan.containers}


def test_each_container_lands_on_its_own_host(built: Built) -> None:
    for spec in built.plan.containers:
        provider = built.containers[spec.name].provider or ""
        assert f"::{built.plan.stack}-{spec.host}-" in provider, spec.name
        assert PROVIDER in provider


def test_each_host_is_reached_as_declared(built: Built) -> None:
    providers = built.of(PROVIDER)
    assert len(providers) == len(built.plan.hosts)
    for host in built.plan.hosts:
        args = providers[f"{built.plan.stack}-{host.name}-docker"]
        assert args.inputs["host"] == host.target.docker_host


def test_a_docker_context_of_the_operator_leads_to_no_other_host(built: Built) -> None:
    assert [args.inputs["context"] for args in built.of(PROVIDER).values()] == [""] * len(
        built.plan.hosts
    )


def test_nothing_is_left_to_a_default_provider(built: Built) -> None:
    for args in built.resources:
        if args.typ.startswith("docker:"):
            assert args.provider, args.name


def test_names_carry_stack_and_host(built: Built) -> None:
    hosts = [host.name for host in built.plan.hosts]
    for args in built.resources:
        assert args.name.startswith(built.plan.stack), args.name
        if args.typ.startswith("docker:"):
            assert any(f"-{host}-" in args.name for host in hosts), args.name


def test_names_of_resources_are_not_given_twice(built: Built) -> None:
    names = [(args.typ, args.name) for args in built.resources]
    assert len(names) == len(set(names))


def test_every_container_runs_the_image_by_digest(built: Built) -> None:
    for args in built.containers.values():
        assert args.inputs["image"].endswith(f"@{DIGEST}")


def test_no_container_has_more_rights_than_it_needs(built: Built) -> None:
    for args in built.containers.values():
        assert "privileged" not in args.inputs
        assert "volumes" not in args.inputs
        assert args.inputs["networkMode"] == "host"
        for name in args.inputs.get("capabilities", {}).get("adds", []):
            assert name.startswith("CAP_")


def test_rdma_gives_devices_and_locked_memory_where_it_is_declared(built: Built) -> None:
    for spec in built.plan.containers:
        inputs = built.containers[spec.name].inputs
        for key in ("devices", "ulimits", "capabilities"):
            assert (key in inputs) is spec.rdma


def test_the_server_is_in_the_heads_namespaces_where_there_is_ray(built: Built) -> None:
    server = built.containers[built.plan.server.name].inputs
    if built.plan.join is None:
        assert server["ipcMode"] == "private"
        assert "pidMode" not in server
        return
    head = built.containers[built.plan.containers[0].name]
    assert server["ipcMode"] == server["pidMode"] == f"container:{head.name}-id"
    assert head.inputs["ipcMode"] == "shareable"
    assert "shmSize" not in server
    assert "init" not in server


def test_docker_starts_again_what_fails_and_leaves_alone_what_ends_with_0(built: Built) -> None:
    for spec in built.plan.containers:
        inputs = built.containers[spec.name].inputs
        assert (inputs["restart"], inputs["maxRetryCount"]) == ("on-failure", 0)


def test_dockers_own_count_is_used_where_the_command_is_the_images() -> None:
    made = build(plan(1, {"image.entrypoint": "image", "restarts": {"limit": 3}}, "own"))
    (container,) = made.containers.values()
    assert container.inputs["maxRetryCount"] == 3
    assert "healthcheck" not in container.inputs


def test_the_servers_health_check_is_spelled_as_docker_gives_it_back(built: Built) -> None:
    checks: dict[str, Any] = {
        name: args.inputs.get("healthcheck") for name, args in built.containers.items()
    }
    check = checks.pop(built.plan.server.name)
    assert set(checks.values()) <= {None}
    assert check["tests"][0] == "CMD-SHELL"
    for name in ("interval", "timeout", "startPeriod", "startInterval"):
        assert re.fullmatch(r"0s|(\d+h)?(\d+m)?\d+s", check[name])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (15, "15s"), (60, "1m0s"), (90, "1m30s"), (3600, "1h0m0s"), (5415, "1h30m15s")],
)
def test_durations_are_spelled_as_go_spells_them(seconds: int, text: str) -> None:
    assert go_duration(seconds) == text


def test_gates_hold_nothing_of_the_operators_machine(built: Built) -> None:
    commands = built.of(COMMAND)
    gates = 3 if built.plan.join is None else 4
    identity = 1
    assert len(commands) == gates + identity + len(built.plan.hosts) + len(built.plan.containers)
    del commands[f"{built.plan.stack}-identity"]
    for args in commands.values():
        text = args.inputs["stdin"] + args.inputs["create"]
        for path in (ROOT, Path.home(), Path(sys.executable).parent, Path(sys.prefix)):
            assert f"{path}/" not in text
        for program in (args.inputs["create"], args.inputs.get("delete", "true")):
            assert program == "true" or program.startswith("python3 -m tandem.gates.")


def test_without_ssh_options_gates_hold_no_absolute_path_at_all(four: Built) -> None:
    for args in four.of(COMMAND).values():
        text = args.inputs.get("stdin", "").replace('"/srv/model"', "")  # a folder of the hosts
        assert '"/' not in text
        assert "=/" not in text


def test_a_gate_runs_again_when_a_container_it_waits_for_is_new(four: Built) -> None:
    gates = four.of(COMMAND)
    assert gates["four-image"].inputs["triggers"] == []
    assert gates["four-weights"].inputs["triggers"] == []
    ids = [f"{args.name}-id" for args in four.containers.values()]
    server = f"{four.containers[four.plan.server.name].name}-id"
    assert sorted(gates["four-joined"].inputs["triggers"]) == sorted({*ids} - {server})
    assert gates["four-ready"].inputs["triggers"] == [server]


def test_a_number_of_gpus_and_device_ids_are_asked_for_as_declared(four: Built) -> None:
    requests = {name: args.inputs["deviceRequests"][0] for name, args in four.containers.items()}
    assert requests["tandem-four-host-2-ray-worker"]["count"] == 1
    assert requests["tandem-four-host-4-ray-worker"]["deviceIds"] == ["0"]
    assert "count" not in requests["tandem-four-host-4-ray-worker"]


def test_the_models_folder_is_bound_on_every_host(built: Built) -> None:
    volumes = {
        args.inputs["name"]: args.inputs for args in built.of("docker:index/volume:Volume").values()
    }
    for host in built.plan.hosts:
        options = volumes[host.model_volume.name]["driverOpts"]
        assert options == {"type": "none", "o": "bind", "device": host.model_volume.device}


def test_a_volume_for_files_from_the_hub_is_bound_to_no_folder() -> None:
    made = build(plan(1, {"model.source": {"hub": True}, "model.revision": "c" * 40}, "hub"))
    volume = made.of("docker:index/volume:Volume")["hub-host-1-model"]
    assert volume.inputs == {"name": "tandem-hub-host-1-hub", "driver": "local"}


def test_no_container_is_declared_before_the_weights_are_verified(built: Built) -> None:
    order = [(args.typ, args.name) for args in built.resources]
    weights = order.index((COMMAND, f"{built.plan.stack}-weights"))
    assert CONTAINER not in {typ for typ, _ in order[:weights]}
    before = {name for _, name in order[:weights]}
    for host in built.plan.hosts:
        assert {f"{built.plan.stack}-{host.name}-{part}" for part in PARTS} <= before


def test_the_weights_are_not_read_before_the_image_was_looked_into(built: Built) -> None:
    order = [(args.typ, args.name) for args in built.resources]
    image = order.index((COMMAND, f"{built.plan.stack}-image"))
    assert image < order.index((COMMAND, f"{built.plan.stack}-weights"))
    before = {name for _, name in order[:image]}
    for host in built.plan.hosts:
        assert f"{built.plan.stack}-{host.name}-image" in before


def test_any_difference_replaces_a_container_the_old_one_first() -> None:
    options: list[pulumi.ResourceOptions] = []

    def declare() -> None:
        parent = pulumi.ComponentResource("test:index:Parent", "parent")
        provider = pulumi_docker.Provider("provider", host="ssh://host")
        options.append(replacement_options(parent, provider, [parent], "trigger"))

    run(Recorder(), "test", declare)
    (option,) = options
    assert option.delete_before_replace is True
    assert option.replace_on_changes == ["*"]
    assert option.replacement_trigger == "trigger"


def test_the_api_key_is_a_secret_file_of_the_server_alone() -> None:
    keyed = build(plan(2, {"apiKey": "sesame"}, "keyed"))
    inputs = {name: args.inputs for name, args in keyed.containers.items()}
    server = inputs.pop(keyed.plan.server.name)
    uploads = server["uploads"]
    assert uploads[rpc._special_sig_key] == rpc._special_secret_sig
    assert uploads["value"][-1] == {"file": "/tandem/api-key", "content": "sesame"}
    assert "sesame" not in str(inputs)
    assert "sesame" not in str({**server, "uploads": None})
    assert "sesame" not in repr(keyed.plan)
    assert "sesame" not in keyed.plan.ready.to_json()
