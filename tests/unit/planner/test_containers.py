"""Every container's full spec."""

import json
from typing import Any

import pytest

from tandem.planner import ContainerSpec
from tests.builders import plan

WAIT = (
    "python3",
    "/tandem/ray_contract.py",
    "--address=10.0.0.1:6379",
    "--node=10.0.0.1=1",
    "--node=10.0.0.2=1",
    "--timeout=600",
    "--",
)
SUPERVISE = ("python3", "/tandem/supervise.py", "--limit=5", "--window=1800")
LIVENESS = ("python3", "/tandem/liveness.py", "--url=http://10.0.0.1:8000", "--timeout=600")
SERVE = (*SUPERVISE, "--", *LIVENESS, "--model=org/model", "--")
"""What comes before the server's own command."""


def containers(hosts: int, changes: dict[str, Any] | None = None) -> dict[str, ContainerSpec]:
    """Return the containers of a plan by name."""
    return {spec.name: spec for spec in plan(hosts, changes).containers}


def server(hosts: int = 1, changes: dict[str, Any] | None = None) -> ContainerSpec:
    return plan(hosts, changes).server


def test_names_carry_stack_and_host_in_the_order_of_the_start() -> None:
    assert list(containers(3)) == [
        "tandem-test-host-1-ray-head",
        "tandem-test-host-2-ray-worker",
        "tandem-test-host-3-ray-worker",
        "tandem-test-host-1-server",
    ]


def test_each_host_has_its_own_address_and_interface() -> None:
    found = containers(2)
    for name, address, interface in (
        ("tandem-test-host-1-ray-head", "10.0.0.1", "eth0"),
        ("tandem-test-host-1-server", "10.0.0.1", "eth0"),
        ("tandem-test-host-2-ray-worker", "10.0.0.2", "eth1"),
    ):
        env = found[name].env
        assert env["VLLM_HOST_IP"] == env["RAY_NODE_IP_ADDRESS"] == address
        assert env["NCCL_SOCKET_IFNAME"] == env["GLOO_SOCKET_IFNAME"] == interface
        assert env["UCX_NET_DEVICES"] == interface


def test_a_declared_interface_is_used_on_its_host() -> None:
    found = containers(2, {"hosts.1.interface": "eth1"})
    assert found["tandem-test-host-2-ray-worker"].env["TP_SOCKET_IFNAME"] == "eth1"


def test_variables_of_a_host_stay_on_it() -> None:
    found = containers(2, {"hosts.0.env": {"A": "1"}, "hosts.1.env": {"B": "2"}})
    head, worker, api = found.values()
    assert (head.env["A"], api.env["A"], worker.env["B"]) == ("1", "1", "2")
    assert "B" not in head.env
    assert "B" not in api.env
    assert "A" not in worker.env


def test_variables_of_the_server_do_not_reach_ray() -> None:
    head, worker, api = containers(2, {"serve.env": {"C": "3"}}).values()
    assert api.env["C"] == "3"
    assert "C" not in head.env
    assert "C" not in worker.env


@pytest.mark.parametrize(("rdma", "disabled"), [("true", "0"), ("false", "1")])
def test_rdma_is_for_all_containers_or_for_none(rdma: str, disabled: str) -> None:
    for spec in containers(2, {"rdma": rdma}).values():
        assert spec.rdma is (rdma == "true")
        assert spec.env["NCCL_IB_DISABLE"] == disabled
        assert ("UCX_NET_DEVICES" in spec.env) is (rdma == "true")


def test_vllm_is_told_which_variables_not_to_copy_from_the_head() -> None:
    changes = {"hosts.0.env": {"NCCL_DEBUG": "INFO"}, "hosts.1.env": {"MY_OWN": "1"}}
    api = server(2, changes)
    (upload,) = [u for u in api.uploads if u.path.endswith("non_carry_over_env_vars.json")]
    assert upload.path == f"{api.env['VLLM_CONFIG_ROOT']}/ray_non_carry_over_env_vars.json"
    names = json.loads(upload.content)
    assert names == sorted(names)
    assert {"MY_OWN", "NCCL_DEBUG", "NCCL_SOCKET_IFNAME", "VLLM_HOST_IP"} <= set(names)
    assert {"UCX_NET_DEVICES", "NCCL_IB_HCA", "GLOO_SOCKET_IFNAME"} <= set(names)


def test_the_server_waits_for_every_node_and_then_becomes_vllm() -> None:
    api = server(2)
    assert api.entrypoint == (*WAIT, *SERVE, "vllm", "serve")
    assert api.command[0] == "/model"
    program = next(u for u in api.uploads if u.path == WAIT[1])
    compile(program.content, WAIT[1], "exec")


def test_the_server_waits_for_every_node_with_its_own_number_of_gpus() -> None:
    changes = {"hosts.1.gpus": [0, 1], "serve.tensorParallel": 4, "ray.joinTimeout": "90s"}
    words = server(3, changes).entrypoint or ()
    assert "--node=10.0.0.2=2" in words
    assert "--node=10.0.0.3=1" in words
    assert "--timeout=90" in words


def test_an_entrypoint_of_ones_own_comes_after_the_wait() -> None:
    entrypoint = server(2, {"image.entrypoint": ["sh", "start"]}).entrypoint
    assert entrypoint == (*WAIT, *SERVE, "sh", "start")


@pytest.mark.parametrize(
    ("entrypoint", "words"),
    [
        ("vllm", (*SERVE, "vllm", "serve")),
        ("image", None),
        (["sh", "start"], (*SERVE, "sh", "start")),
    ],
)
def test_a_single_host_starts_the_server_at_once(
    entrypoint: object, words: tuple[str, ...] | None
) -> None:
    assert server(1, {"image.entrypoint": entrypoint}).entrypoint == words


def test_the_images_own_entrypoint_is_configured_by_variables() -> None:
    changes = {"image.entrypoint": "image", "serve.port": 9000, "serve.maxModelLen": 512}
    env = server(1, changes | {"serve.gpuMemoryUtilization": 0.5}).env
    assert env["VLLM_HOST"] == "10.0.0.1"
    assert env["VLLM_PORT"] == "9000"
    assert env["VLLM_MAX_MODEL_LEN"] == "512"
    assert env["VLLM_GPU_MEMORY_UTIL"] == "0.5"


def test_vllm_never_sees_the_port_as_a_variable() -> None:
    for spec in (*containers(2).values(), server(1)):
        assert "VLLM_PORT" not in spec.env


def test_a_single_host_has_no_ray() -> None:
    (only,) = containers(1).values()
    assert only.shares is None
    assert [upload.path for upload in only.uploads] == [
        "/tandem/supervise.py",
        "/tandem/liveness.py",
    ]
    assert "RAY_ADDRESS" not in only.env
    assert [mount.target for mount in only.mounts] == ["/model"]
    assert "--distributed-executor-backend" not in only.command


def test_several_gpus_of_a_single_host_use_vllms_own_processes() -> None:
    command = server(1, {"hosts.0.gpus": 2, "serve.tensorParallel": 2}).command
    assert command[command.index("--distributed-executor-backend") + 1] == "mp"


def test_the_server_is_beside_the_head_and_shares_its_session() -> None:
    head, worker, api = containers(2).values()
    assert api.shares == head.name
    assert [spec.is_shared for spec in (head, worker, api)] == [True, False, False]
    assert (head.shares, worker.shares) == (None, None)
    session = "tandem-test-host-1-session"
    assert [m.target for m in head.mounts if m.volume == session] == ["/tmp"]
    assert [m.target for m in api.mounts if m.volume == session] == ["/tmp"]
    assert session not in [m.volume for m in worker.mounts]


def test_the_model_cannot_be_written_to() -> None:
    for spec in containers(2).values():
        assert [m.read_only for m in spec.mounts if m.target == "/model"] == [True]


def test_ray_starts_on_its_own_address_with_its_own_gpus() -> None:
    head, worker, _ = containers(2, {"ray.port": 7000}).values()
    assert head.entrypoint == (*SUPERVISE, "--in-place", "--", "ray")
    assert worker.entrypoint == (*SUPERVISE, "--after=10.0.0.1:7000", "--", "ray")
    assert head.command[:4] == ("start", "--head", "--block", "--port=7000")
    assert worker.command[:3] == ("start", "--block", "--address=10.0.0.1:7000")
    assert "--node-ip-address=10.0.0.2" in worker.command
    assert "--num-gpus=1" in worker.command


def test_what_is_declared_reaches_vllm_and_what_is_not_is_left_to_it() -> None:
    changes = {
        "model.servedName": "short",
        "serve.maxModelLen": 512,
        "serve.kvCacheDtype": "fp8",
        "serve.kvCacheMemory": "2GiB",
        "serve.listen": "0.0.0.0",
        "serve.args": ["--seed", "1"],
    }
    command = server(2, changes).command
    pairs = dict(zip(command[1:-2:2], command[2:-2:2], strict=True))
    assert pairs == {
        "--served-model-name": "short",
        "--host": "0.0.0.0",
        "--port": "8000",
        "--tensor-parallel-size": "2",
        "--pipeline-parallel-size": "1",
        "--distributed-executor-backend": "ray",
        "--max-model-len": "512",
        "--kv-cache-dtype": "fp8",
        "--kv-cache-memory-bytes": "2147483648",
    }
    assert command[-2:] == ("--seed", "1")


def test_labels_tell_the_survey_which_ports_are_the_stacks_own() -> None:
    ports = {name: spec.labels["dev.tandem.ports"] for name, spec in containers(2).items()}
    assert list(ports.values()) == ["6379", "", "8000"]
    assert {spec.labels["dev.tandem.stack"] for spec in containers(2).values()} == {"test"}


@pytest.mark.parametrize("hosts", [1, 2])
def test_with_an_api_key_vllm_is_started_by_the_program_that_reads_it(hosts: int) -> None:
    spec = server(hosts, {"apiKey": "sesame"})
    start = ("python3", "/tandem/with_key.py", "/tandem/api-key", "vllm", "serve")
    assert spec.entrypoint is not None
    assert spec.entrypoint[-len(start) :] == start
    (key,) = spec.secret_uploads
    assert (key.path, key.content.get_secret_value()) == ("/tandem/api-key", "sesame")
    assert "/tandem/with_key.py" in {upload.path for upload in spec.uploads}
    assert "--key=/tandem/api-key" in spec.entrypoint
    assert "sesame" not in repr(spec)


def test_without_an_api_key_nothing_of_it_is_there() -> None:
    assert server().secret_uploads == ()
    assert "/tandem/with_key.py" not in {upload.path for upload in server().uploads}
    assert "with_key" not in str(server(2))


def test_the_key_stays_on_the_head() -> None:
    (names,) = (
        upload.content for upload in server(2).uploads if upload.path.endswith("env_vars.json")
    )
    assert "VLLM_API_KEY" in json.loads(names)


@pytest.mark.parametrize("hosts", [1, 2])
def test_every_program_that_a_command_names_is_put_into_the_container(hosts: int) -> None:
    for spec in containers(hosts, {"apiKey": "sesame"}).values():
        named = {word for word in spec.entrypoint or () if word.startswith("/tandem/")}
        put = {upload.path for upload in spec.uploads}
        assert named <= put | {upload.path for upload in spec.secret_uploads}


def test_every_container_counts_its_restarts_as_declared() -> None:
    for spec in containers(2, {"restarts": {"limit": 2, "window": "1h"}}).values():
        assert {"--limit=2", "--window=3600"} <= set(spec.entrypoint or ())
        assert spec.restart_limit == 0


def test_docker_alone_counts_where_the_images_own_entrypoint_starts_the_server() -> None:
    spec = server(1, {"image.entrypoint": "image", "restarts": {"limit": 2}})
    assert (spec.restart_limit, spec.health, spec.uploads) == (2, None, ())


def test_the_server_alone_has_a_health_check_that_spares_it_until_it_should_have_answered() -> None:
    head, worker, api = containers(2, {"serve.readyTimeout": "20m"}).values()
    assert (head.health, worker.health) == (None, None)
    assert api.health is not None
    assert api.health.start_period == 1200
    assert "/dev/shm/tandem-healthy" in api.health.command


def test_a_server_that_may_be_put_to_sleep_is_not_asked_for_a_token() -> None:
    words = server(1, {"serve.args": ["--enable-sleep-mode"]}).entrypoint or ()
    assert not [word for word in words if word.startswith("--model=")]


@pytest.mark.parametrize(("version", "quiet"), [("0.15.1", False), ("0.16.0", True), (None, False)])
def test_looks_at_the_servers_health_stay_out_of_its_log_where_vllm_can(
    version: str | None, quiet: bool
) -> None:
    changes = {"image.vllm": version} if version else {}
    command = server(1, {**changes, "serve.args": ["--seed", "1"]}).command
    assert ("/health,/metrics" in command) is quiet
    assert command[-2:] == ("--seed", "1")
