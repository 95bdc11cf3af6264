"""What the probe prints and what reads it are a pair: a whole host, made of files and programs.

The script is the real one, in this machine's shell. What it looks at below /proc, /sys, /etc and
/dev/infiniband is looked at in a folder.
"""

from __future__ import annotations

import re
import subprocess
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from tandem.survey.network import Route
from tandem.survey.parse import SECTIONS, host_facts
from tandem.units import GIB, MIB
from tests.builders import safetensors
from tests.shell import program

if TYPE_CHECKING:
    from pathlib import Path

    from tandem.survey.facts import HostFacts

CONTAINER = "3f" * 32
DOCKER = {
    "version": {"Version": "29.1.3"},
    "info": {"Runtimes": {}},
    "containers": [{"Id": CONTAINER, "Labels": {"dev.tandem.stack": "test"}}],
}
SIZE = 3 * MIB
PORT = "/sys/class/infiniband/rocep1s0f0/ports/1"
FILES = {
    "/etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "/etc/cdi/nvidia.yaml": "kind: nvidia.com/gpu\n",
    "/proc/meminfo": "MemTotal: 2097152 kB\nMemFree: 7 kB\nMemAvailable: 1048576 kB\n",
    "/proc/4242/cgroup": f"0::/system.slice/docker-{CONTAINER}.scope\n",
    "/proc/net/tcp": "  sl  local_address\n   0: 00000000:2328 00000000:0000 0A 0:0 0 0\n",
    "/sys/class/net/eth0/speed": "200000\n",
    f"{PORT}/state": "4: ACTIVE\n",
    f"{PORT}/rate": "200 Gb/sec (4X HDR)\n",
    f"{PORT}/link_layer": "Ethernet\n",
    f"{PORT}/gids/0": "fe80:0000:0000:0000:0000:0000:0000:0001\n",
    f"{PORT}/gids/3": "0000:0000:0000:0000:0000:ffff:0a00:0001\n",
    f"{PORT}/gid_attrs/ndevs/3": "eth0\n",
    f"{PORT}/gid_attrs/types/3": "RoCE v2\n",
    "/dev/infiniband/uverbs0": "",
}
SMI = """case "$*" in
"--format=csv,noheader,nounits --query-gpu=index,uuid,name,driver_version,memory.total,\
memory.used,memory.free,memory.reserved,compute_cap")
    echo '0, GPU-a, NVIDIA A, 580.95.05, 3072, 1024, 2000, 48, 9.0' ;;
"--format=csv,noheader,nounits --query-compute-apps=pid,gpu_uuid,used_memory,process_name")
    echo '4242, GPU-a, 1024, VLLM::EngineCore' ;;
*) exit 2 ;;
esac"""
IP = """case "$*" in
"-o link show") echo '2: eth0: <UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT' ;;
"-o -4 addr show") echo '2: eth0    inet 10.0.0.1/24 brd 10.0.0.255 scope global eth0' ;;
"-o -4 -force -batch -")
    read -r asked && [ "$asked" = 'route get 127.0.0.1' ]
    echo '127.0.0.1 dev eth0 src 10.0.0.1 uid 0 ' ;;
esac"""
SS = """[ "$*" = -ltnp ] || exit 2
echo 'LISTEN 0 4096 0.0.0.0:9000 0.0.0.0:* users:(("web",pid=698,fd=4))'"""
VOLUME = """[ "$*" = 'volume inspect --format {{.Mountpoint}} a-volume' ] || exit 2
echo """


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the probe prints on a host that has everything."""
    root = tmp_path_factory.mktemp("host")
    for name, text in FILES.items():
        place = root / name.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    model = root / "model"
    model.mkdir()
    (model / "config.json").write_text('{"hidden_size": 64}\n')
    (model / "model.safetensors.index.json").write_text('{"a": "model.safetensors"}')
    for name in ("model.safetensors", "consolidated.safetensors"):
        (model / name).write_bytes(safetensors(bytes(SIZE)))
    programs = root / "bin"
    programs.mkdir()
    program(programs / "nvidia-smi", SMI)
    program(programs / "nvidia-container-runtime-hook", "exit 1")
    program(programs / "ip", IP)
    program(programs / "ss", SS)
    program(programs / "docker", f"{VOLUME}{model}")
    return _run(root)


def _run(root: Path) -> str:
    script = resources.files("tandem.survey").joinpath("probe.sh").read_text()
    places = re.compile(r"(?<![\w/.])/(?=(proc|sys|etc)/|dev/infiniband)")
    words = ("sh", "-s", "--", root, "a-volume", "9", "127.0.0.1")
    env = {"PATH": f"{root}/bin:/usr/bin:/bin"}
    done = subprocess.run(
        words, input=places.sub(f"{root}/", script), capture_output=True, text=True, env=env
    )
    return done.stdout


def _titles(printed: str) -> list[str]:
    return re.findall("^@@(.*)$", printed, re.MULTILINE)


def _read(printed: str) -> HostFacts:
    return host_facts("host-1", "test", DOCKER, printed, sent=1, received=2)


def test_the_probe_prints_exactly_the_sections_that_are_read(printed: str) -> None:
    assert _titles(printed) == list(SECTIONS)


@pytest.mark.parametrize("title", SECTIONS)
def test_every_section_tells_something_of_the_host(title: str, printed: str) -> None:
    assert re.search(f"(?s)\n@@{title}\n[^@]", printed)
    without = re.sub(f"(?s)(\n@@{title}\n).*?(?=\n@@|$)", r"\1", printed)
    assert _read(without) != _read(printed)


def test_what_the_probe_prints_is_understood(printed: str) -> None:
    facts = _read(printed)
    assert facts.system.os == "Debian GNU/Linux 12 (bookworm)"
    assert facts.memory is not None
    assert (facts.memory.total, facts.memory.available) == (2 * GIB, GIB)
    assert facts.clock is not None
    assert facts.docker.gpu_ways == ("hook", "CDI")
    assert facts.docker_disk is not None and facts.model_disk is not None
    # What is free changes between the two looks.
    assert facts.docker_disk.mounted_on == facts.model_disk.mounted_on
    assert facts.docker_disk.size == facts.model_disk.size
    assert facts.fetched_bytes is not None and 2 * SIZE < facts.fetched_bytes < 2 * SIZE + MIB
    assert facts.routes == {"127.0.0.1": Route(device="eth0", source="10.0.0.1")}
    assert facts.paths == {"127.0.0.1": None}
    (listener,) = facts.listeners
    assert (listener.port, listener.program) == (9000, "web, pid 698")
    (interface,) = facts.interfaces or ()
    assert (interface.name, interface.addresses, interface.state) == ("eth0", ("10.0.0.1",), "UP")
    assert (interface.mtu, interface.speed) == (9000, 200_000)
    assert [file.name for file in facts.model.loaded] == ["model.safetensors"]
    assert (facts.model.weights_bytes, facts.model.config) == (SIZE, {"hidden_size": 64})


def test_gpus_are_asked_for_the_columns_that_are_read(printed: str) -> None:
    (gpu,) = _read(printed).gpus
    assert (gpu.index, gpu.uuid, gpu.name, gpu.driver) == (0, "GPU-a", "NVIDIA A", "580.95.05")
    assert (gpu.memory_total, gpu.memory_used, gpu.memory_free) == (3 * GIB, GIB, 2000 * MIB)
    assert (gpu.memory_reserved, gpu.compute_capability) == (48 * MIB, "9.0")
    (process,) = gpu.processes
    assert (process.pid, process.used, process.is_own) == (4242, GIB, True)
    assert process.name == "VLLM::EngineCore"


def test_rdma_ports_are_printed_in_the_columns_that_are_read(printed: str) -> None:
    rdma = _read(printed).rdma
    assert rdma.has_devices
    (port,) = rdma.ports
    assert (port.device, port.port, port.state) == ("rocep1s0f0", 1, "ACTIVE")
    assert (port.rate, port.link_layer) == ("200 Gb/sec (4X HDR)", "Ethernet")
    (gid,) = port.gids
    assert (gid.index, gid.address, gid.interface, gid.kind) == (3, "10.0.0.1", "eth0", "RoCE v2")
