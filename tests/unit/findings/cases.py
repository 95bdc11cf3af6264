"""The least that makes each finding, where tests/cases has no case of it from the field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.cli.stack_file import read_stack_file
from tandem.settings import load_settings
from tandem.survey.docker import ContainerFacts, DockerFacts, LocalImage
from tandem.survey.facts import HubFacts, ImageContent, ImageFacts, ModelFacts
from tandem.survey.gpus import GpuProcess
from tandem.survey.images import known_images
from tandem.survey.machine import ClockFacts, DiskFacts, MemoryFacts, SystemFacts
from tandem.survey.model import declared_model
from tandem.survey.model_folder import ModelFolder, WeightFile
from tandem.survey.network import Listener, Route
from tandem.survey.rdma import Gid, RdmaFacts, RdmaPort
from tandem.survey.starts import earlier_starts
from tandem.units import GIB
from tests.builders import DIGEST, gpu, interface, settings
from tests.unit.findings.ways import (
    STACK_FILE,
    asks,
    both,
    broken,
    declares,
    frees,
    logs_with,
    mistypes,
    raises,
    reads,
    shows,
    weighs,
)

if TYPE_CHECKING:
    from tests.unit.findings.ways import Case

TAG = {"image.reference": "registry.example/vllm:1"}
WITHOUT_RAY = ImageContent(digest=DIGEST, python="3.12.11", ray=None, vllm="0.19.1")
FOREIGN = ContainerFacts(id="1" * 64, name="tandem-test-host-1-server", stack="")
BUSY = gpu(processes=(GpuProcess(pid=7, name="python3", used=GIB, is_own=False),))
ELSEWHERE = Route(device="wlan0", source="192.168.1.5")
MISSING = {"model.config": "none.json"}


def nccl(**variables: str) -> Case:
    """Return the case of a host with one RDMA device, which is down, and these variables."""
    gid = Gid(index=5, address="10.0.0.1", interface="eth0", kind="RoCE v2")
    port = RdmaPort(
        device="rocep1s0f0",
        port=1,
        state="DOWN",
        rate="200 Gb/sec (4X HDR)",
        link_layer="Ethernet",
        gids=(gid,),
    )
    found = RdmaFacts(has_devices=True, ports=(port,))
    return shows({"rdma": found}, changes={"hosts.0.env": variables})


def on_eth0(address: str = "10.0.0.1", **changes: Any) -> dict[str, Any]:
    """Return facts of a host with one interface."""
    return {"interfaces": (interface("eth0", address, **changes),)}


def docker(**changes: Any) -> dict[str, Any]:
    """Return facts of Docker."""
    return {"docker": DockerFacts.model_validate({"version": "29.1.3", **changes})}


def disk(free: int) -> dict[str, Any]:
    """Return facts of Docker's disk with so many bytes free."""
    return {"docker_disk": DiskFacts(free=free, size=100 * GIB, mounted_on="/")}


def with_layers(free: int) -> Case:
    """Return the case of an image of 8 GiB, packed, that is yet to be pulled to such a disk."""
    return shows(disk(free), image=ImageFacts(digest=DIGEST, layers_bytes=8 * GIB))


def clock(offset: float) -> dict[str, Any]:
    """Return facts of a clock that is so many seconds ahead of this machine's."""
    return {"clock": ClockFacts(offset=offset, uncertainty=0.5)}


def system(**changes: str) -> dict[str, Any]:
    """Return facts of a machine."""
    return {"system": SystemFacts.model_validate(changes)}


def image(identity: str) -> dict[str, Any]:
    """Return facts of a host on which the tag is the image with this id."""
    names = frozenset([TAG["image.reference"]])
    return {"images": (LocalImage(id=identity, architecture="amd64", size=1, names=names),)}


def model(size: int = 1000, **changes: Any) -> dict[str, Any]:
    """Return facts of a folder with one file of so many bytes, 100 of them header."""
    file = WeightFile(name="a.safetensors", size=size, header=100)
    whole = {"has_config": True, "config": {}, "files": (file,)}
    return {"model": ModelFolder.model_validate(whole | changes)}


CASES: dict[str, Case] = {
    # Commands and their files
    "no-stack-file": raises(lambda folder: read_stack_file(str(folder / "Pulumi.none.yaml"))),
    "not-yaml": reads("config: ["),
    "no-config": reads("config:\n"),
    "bad-change": reads(STACK_FILE, "hosts.7.gpus=2"),
    "unknown-host": logs_with("--host", "host-9"),
    "kept-is-whole": logs_with("--previous", "--follow"),
    "image-unreadable": raises(lambda folder: known_images(broken(folder).parent)),
    "starts-unreadable": raises(lambda folder: earlier_starts(broken(folder))),
    # Keys of the stack file
    "unknown-key": mistypes({"serve.tensorParalel": 2}),
    "missing-key": mistypes({"hosts": None}),
    "bad-value": mistypes({"serve.port": 65536}),
    "secret-in-plain": raises(lambda folder: load_settings({"tandem:apiKey": "x"}, ())),
    "name-twice": declares(2, {"hosts.1.name": "host-1"}),
    "address-twice": declares(2, {"hosts.1.address": "10.0.0.1"}),
    "address-not-reachable": declares(2, {"hosts.1.address": "127.0.0.1"}),
    "gpu-twice": declares(1, {"hosts.0.gpus": ["0", "0"]}),
    "port-of-ray-workers": declares(2, {"ray.port": 10002}),
    "interface-unknown": both(declares(2, {}), shows({"interfaces": None}, {})),
    "digest-unknown": declares(1, TAG),
    # Arguments and variables of vLLM
    "api-key-not-passed": declares(1, {"apiKey": "x", "image.entrypoint": "image"}),
    # How the model is split
    "config-not-read": declares(1, {}, model=ModelFacts(config={"model_type": "qwen3"})),
    # Backends
    "image-without-ray": declares(2, {}, images=(WITHOUT_RAY,)),
    "backend-needs-newer-vllm": declares(2, {"backend": "mp", "image.vllm": "0.11.0"}),
    "backend-needs-entrypoint": declares(2, {"backend": "mp", "image.entrypoint": "image"}),
    "hosts-uneven": declares(2, {"backend": "mp", "hosts.1.gpus": 2}),
    "ranks-uneven": declares(2, {"backend": "mp", "serve.tensorParallel": 1}),
    "data-parallel-over-hosts": declares(2, {"backend": "mp", "serve.args": ["-dp", "2"]}),
    "log-too-quiet": declares(2, {"backend": "mp", "serve.env": {"VLLM_LOGGING_LEVEL": "ERROR"}}),
    # Memory
    "weights-do-not-fit": weighs({"planner": "warn"}, "8GiB"),
    "memory-not-enough": weighs({"planner": "warn", "serve.maxModelLen": 131_072}),
    "utilization-above-free": frees(22 * GIB),
    "vllm-version-unknown": weighs({}, "80GiB", version=None),
    # Hosts
    "host-unreachable": shows({"problem": "no answer within 30 s"}),
    "docker-not-usable": shows(docker(problem="permission denied")),
    "docker-rootless": shows(docker(rootless=True)),
    "address-not-on-host": shows(on_eth0("10.0.0.7")),
    "interface-mismatch": shows({}, changes={"hosts.0.interface": "eth7"}),
    "interface-down": shows(on_eth0(state="DOWN")),
    "mtu-mismatch": shows(on_eth0(mtu=1500), {}),
    "path-blocked": shows({"paths": {"10.0.0.2": "no answer within 2 s"}}, {}),
    "route-elsewhere": shows({"routes": {"10.0.0.2": ELSEWHERE}}, {}),
    "name-taken": shows({"containers": (FOREIGN,)}),
    "port-taken": shows({"listeners": (Listener(port=8000),)}),
    "gpus-not-offered": shows(docker(gpu_ways=())),
    "gpu-driver": shows({"gpus": (), "gpu_problem": "Failed to initialize NVML"}),
    "gpus-missing": shows({"gpus": (gpu(),)}, changes={"hosts.0.gpus": 2}),
    "gpu-busy": shows({"gpus": (BUSY,)}),
    "rdma-missing": shows({"rdma": RdmaFacts()}),
    "rdma-device-missing": nccl(NCCL_IB_HCA="mlx5_0"),
    "rdma-device-down": nccl(NCCL_IB_HCA="rocep1s0f0"),
    "gid-index": nccl(NCCL_IB_GID_INDEX="3"),
    "disk-too-small": both(with_layers(7 * GIB), with_layers(20 * GIB)),
    "disk-low": shows(disk(GIB // 2)),
    "shm-exceeds-memory": shows({"memory": MemoryFacts(total=8 * GIB, available=7 * GIB)}),
    "clock-skew": both(shows(clock(0), clock(620)), shows(clock(0), clock(60))),
    "architecture-skew": shows(system(architecture="x86_64"), system(architecture="aarch64")),
    "driver-skew": shows({"gpus": (gpu(driver="570.12"),)}, {}),
    "kernel-skew": shows(system(kernel="6.11.0"), system(kernel="6.14.0")),
    "docker-skew": shows(docker(version="28.5.1"), {}),
    # Image and model
    "image-missing": shows({}, changes=TAG, image=ImageFacts(problem="manifest unknown")),
    "image-not-seen": shows({}, image=ImageFacts(problem="unauthorized")),
    "tag-not-pinned": shows({}, changes=TAG),
    "image-architecture": shows(
        system(architecture="aarch64"), image=ImageFacts(digest=DIGEST, platforms=("linux/amd64",))
    ),
    "image-skew": shows(image("sha256:1"), image("sha256:2")),
    "model-missing": shows({"model": ModelFolder()}),
    "config-unreadable": both(
        shows(model(config=None)),
        raises(lambda folder: declared_model(settings(1, MISSING), folder)),
    ),
    "config-differs": shows(model(), model(config={"hidden_size": 1})),
    "weights-missing": shows(model(indexed=frozenset({"a.safetensors", "b.safetensors"}))),
    "weights-broken": shows(model(size=99)),
    "model-differs": shows(model(), model(size=999)),
    "hub-refuses": asks(HubFacts(endpoint="https://hub.example", refusal="there is no org/model")),
    "revision-not-fixed": asks(HubFacts(endpoint="https://hub.example", commit="c" * 40)),
}
"""By code; a code that is an error here and a warning there has a case of each."""
