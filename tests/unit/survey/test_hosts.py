"""What the probe printed on different hosts, read."""

import json
from pathlib import Path
from typing import Any

import pytest

from tandem.survey.facts import HostFacts
from tandem.survey.network import Route
from tandem.survey.parse import host_facts
from tandem.units import GIB, MIB

HOSTS = Path(__file__).parent / "hosts"
NAMES = sorted(path.stem for path in HOSTS.glob("*.txt"))


def read(name: str, stack: str = "lab") -> HostFacts:
    """Return the facts of a recorded host."""
    return host_facts(name, stack, docker_of(name), (HOSTS / f"{name}.txt").read_text())


def docker_of(name: str) -> dict[str, Any]:
    """Return what Docker answered on a recorded host."""
    answers: dict[str, Any] = json.loads((HOSTS / f"{name}.json").read_text())
    return answers


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_host_can_be_read_and_written(name: str) -> None:
    facts = read(name)
    assert facts.problem is None
    assert HostFacts.model_validate_json(facts.model_dump_json()) == facts


def test_a_debian_host_with_an_old_docker() -> None:
    facts = read("debian-12-docker-20.10")
    assert facts.system.os == "Debian GNU/Linux 12 (bookworm)"
    assert (facts.docker.version, facts.docker.api) == ("20.10.24+dfsg1", "1.41")
    assert (facts.docker.storage, facts.docker.rootless) == ("overlay2", False)
    assert facts.docker.gpu_ways == ("hook",)
    assert facts.memory is not None and facts.memory.total == 24684096 * 1024
    assert facts.docker_disk is not None and facts.docker_disk.mounted_on == "/var/lib/docker"
    (image,) = facts.images
    assert (image.architecture, image.size) == ("amd64", 1985472)
    assert facts.image_named("registry.example/vllm:1") == image
    assert facts.gpus == () and facts.gpu_problem is None
    assert facts.routes == {"10.77.0.2": Route(device="eth0", source="10.77.0.1")}
    assert facts.paths == {"10.77.0.2": None}, "a connection that is refused has been there"
    assert facts.model.weights_bytes == 328576
    assert facts.model.config is not None and facts.model.config["model_type"] == "qwen3"


def test_own_containers_are_told_from_others() -> None:
    web, server = read("debian-12-docker-20.10").containers
    assert (web.name, web.stack, web.published, web.state) == ("web", "", frozenset({9000}), None)
    assert (server.stack, server.role, server.ports) == ("lab", "server", frozenset({8000}))
    assert (server.state, server.restarts) == ("running", 0)
    assert server.image_id is not None and server.image_id.startswith("sha256:4d20")


def test_ports_are_listed_with_who_listens_and_the_deployments_own_are_left_out() -> None:
    listeners = {found.port: found.program for found in read("debian-12-docker-20.10").listeners}
    assert listeners == {22: "sshd, pid 37", 2222: "sshd, pid 37", 9000: "container web"}
    spark = {found.port: found.program for found in read("dgx-spark", "prod").listeners}
    assert spark == {22: None, 8188: "container comfyui"}
    assert 8000 in {found.port for found in read("dgx-spark", "other").listeners}


def test_the_port_of_an_own_container_that_has_stopped_is_somebody_elses() -> None:
    docker = docker_of("dgx-spark")
    docker["own"][0]["State"] |= {"Status": "exited", "Running": False}
    facts = host_facts("spark-1", "prod", docker, (HOSTS / "dgx-spark.txt").read_text())
    assert 8000 in {found.port for found in facts.listeners}
    assert not facts.is_serving
    assert read("dgx-spark", "prod").is_serving


def test_a_user_without_docker_sees_the_rest() -> None:
    facts = read("debian-12-no-docker-group")
    assert facts.docker.problem is not None
    assert facts.docker.problem.startswith("permission denied while trying to connect")
    assert facts.docker_disk is None
    assert facts.interface_of("10.77.0.1") is not None
    assert {found.port: found.program for found in facts.listeners}[22] is None
    assert facts.model.has_config


def test_unified_memory_is_not_available_from_nvidia_smi() -> None:
    facts = read("dgx-spark", "prod")
    (gpu,) = facts.gpus
    assert (gpu.name, gpu.driver, gpu.compute_capability) == ("NVIDIA GB10", "580.95.05", "12.1")
    assert (gpu.memory_total, gpu.memory_used, gpu.memory_free) == (None, None, None)
    assert gpu.is_unified
    assert facts.memory is not None
    assert round(facts.memory.total / GIB, 2) == 119.7
    assert facts.docker.gpu_ways == ("runtime", "hook", "CDI")


def test_processes_on_a_gpu_are_told_by_the_container_they_run_in() -> None:
    engine, foreign = read("dgx-spark", "prod").gpus[0].processes
    assert (engine.name, engine.pid, engine.is_own) == ("VLLM::EngineCore", 4242, True)
    assert (foreign.name, foreign.used, foreign.is_own) == ("python3", 2048 * MIB, False)


def test_rdma_ports_have_the_index_of_each_address() -> None:
    up, down = read("dgx-spark").rdma.ports
    assert (up.device, up.state, up.rate) == ("rocep1s0f0", "ACTIVE", "200 Gb/sec (4X HDR)")
    assert up.roce_v2_index("192.168.100.1") == 3
    assert up.roce_v2_index("192.168.1.10") is None
    assert (down.state, down.gids) == ("DOWN", ())
    assert read("dgx-spark").rdma.has_devices
    assert not read("four-3090").rdma.has_devices


def test_interfaces_have_state_mtu_and_speed() -> None:
    facts = read("dgx-spark")
    fabric, office = facts.interface_of("192.168.100.1"), facts.interface_of("192.168.1.10")
    assert fabric is not None and office is not None
    assert (fabric.name, fabric.state, fabric.mtu, fabric.speed) == (
        "enp1s0f0np0",
        "UP",
        9000,
        200_000,
    )
    assert office.speed == 1000
    states = {found.name: found.state for found in facts.interfaces or ()}
    assert states["enp1s0f1np1"] == "DOWN"


def test_only_weights_that_the_index_names_are_counted() -> None:
    model = read("dgx-spark").model
    assert len(model.files) == 3
    assert [file.name for file in model.loaded] == [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ]
    assert model.weights_bytes == (10000000608 - 592 - 8) + (5000000608 - 600 - 8)


def test_several_gpus_have_memory_of_their_own() -> None:
    facts = read("four-3090")
    assert [gpu.index for gpu in facts.gpus] == [0, 1, 2, 3]
    last = facts.gpus[3]
    assert (last.memory_total, last.memory_free) == (24576 * MIB, 24253 * MIB)
    assert (last.memory_reserved, last.compute_capability) == (322 * MIB, "8.6")
    assert not last.is_unified
    (process,) = last.processes
    assert (process.name, process.used) == ("/opt/a, b/python3", 8012 * MIB)


def test_an_address_on_a_vlan_and_a_second_address_are_found() -> None:
    facts = read("four-3090")
    vlan, second = facts.interface_of("10.50.0.7"), facts.interface_of("10.1.0.70")
    assert vlan is not None and vlan.name == "eno1.50"
    assert second is not None and second.addresses == ("10.1.0.7", "10.1.0.70")
    assert facts.routes["10.50.0.8"] == Route(device="br0", source="10.1.0.7")
    assert facts.paths["10.50.0.8"] == "no answer within 2 s"


def test_a_network_disk_is_seen() -> None:
    disk = read("four-3090").model_disk
    assert disk is not None
    assert (disk.mounted_on, disk.free) == ("/srv/models", 4831838208 * 1024)


def test_rootless_docker_keeps_its_images_in_the_users_home() -> None:
    facts = read("rootless-docker")
    assert facts.docker.rootless
    assert facts.docker_disk is not None and facts.docker_disk.mounted_on == "/home"
    assert facts.model_disk is None
    assert facts.docker.gpu_ways == ("CDI",)


def test_a_driver_that_does_not_answer_is_a_problem() -> None:
    facts = read("driver-broken")
    assert facts.gpus == ()
    assert facts.gpu_problem is not None
    assert "couldn't communicate with the NVIDIA driver" in facts.gpu_problem


def test_a_driver_that_knows_no_compute_capability_still_lists_its_gpus() -> None:
    facts = read("old-driver")
    (gpu,) = facts.gpus
    assert (gpu.name, gpu.memory_total, gpu.compute_capability) == ("Tesla T4", 15109 * MIB, None)
    assert facts.gpu_problem is None


def test_without_ip_and_bash_interfaces_and_paths_are_not_known() -> None:
    facts = read("no-ip-no-bash")
    assert facts.interfaces is None
    assert facts.paths == {}
    assert facts.routes == {}


def test_a_host_that_ran_no_script_is_a_problem() -> None:
    assert host_facts("a", "lab", {}, "").problem
    whole = (HOSTS / "dgx-spark.txt").read_text()
    assert host_facts("a", "lab", {}, whole[: len(whole) // 2]).problem
