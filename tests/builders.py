"""Small builders that several tests share: a stack's configuration, facts, and plans."""

from __future__ import annotations

import copy
import json
from typing import Any

from tandem.findings import Finding
from tandem.gates.spec import (
    ImageHost,
    ImageSpec,
    JoinSpec,
    Node,
    RankHost,
    RanksSpec,
    ReadySpec,
    Watched,
    WeightsFolder,
    WeightsSpec,
)
from tandem.planner import Plan, make_plan
from tandem.planner.checks import check_facts
from tandem.settings import Settings, load_settings
from tandem.ssh import SshTarget
from tandem.survey.docker import DockerFacts
from tandem.survey.facts import Facts, HostFacts, ImageFacts
from tandem.survey.gpus import Gpu
from tandem.survey.model_folder import ModelFolder
from tandem.survey.network import Interface
from tandem.survey.rdma import RdmaFacts
from tandem.units import GIB

DIGEST = "sha256:" + "a" * 64
"""A digest that an image reference stands for."""


def config(hosts: int = 1) -> dict[str, Any]:
    """Return the least that a stack file with so many hosts of one GPU has to say."""
    return {
        "hosts": [
            {"name": f"host-{n}", "ssh": f"ops@host-{n}", "address": f"10.0.0.{n}"}
            for n in range(1, hosts + 1)
        ],
        "image": {"reference": f"registry.example/vllm:1@{DIGEST}"},
        "model": {"id": "org/model", "source": {"path": "/srv/model"}},
        "serve": {"tensorParallel": hosts},
    }


def changed(hosts: int, changes: dict[str, Any]) -> dict[str, Any]:
    """Return ``config(hosts)`` with e.g. ``{"hosts.0.address": "10.0.0.9"}`` set."""
    return with_changes(config(hosts), changes)


def with_changes(original: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a copy with e.g. ``{"a.0.b": 1}`` set; None takes a key away."""
    data = copy.deepcopy(original)
    for key, value in changes.items():
        *path, last = [int(part) if part.isdigit() else part for part in key.split(".")]
        place: Any = data
        for part in path:
            place = place[part] if isinstance(part, int) else place.setdefault(part, {})
        if value is None:
            del place[last]
        else:
            place[last] = value
    return data


def load(data: dict[str, Any]) -> Settings:
    """Read settings the way Pulumi hands them over: every value is text, objects are JSON."""
    return load_settings(
        {
            f"tandem:{key}": value if isinstance(value, str) else json.dumps(value)
            for key, value in data.items()
        }
    )


def settings(hosts: int = 1, changes: dict[str, Any] | None = None) -> Settings:
    """Return the settings of ``changed``."""
    return load(changed(hosts, changes or {}))


def host_facts(settings: Settings) -> list[HostFacts]:
    """Return what healthy hosts show: the address on eth0, eth1 and so on, GPUs and the model."""
    addresses = [str(host.address) for host in settings.hosts]
    return [
        HostFacts(
            name=host.name,
            docker=DockerFacts(version="29.1.3", api="1.52", gpu_ways=("hook",)),
            gpus=tuple(gpu(index) for index in range(host.gpu_count)),
            interfaces=(
                Interface(name="lo", addresses=("127.0.0.1",), state="UNKNOWN", mtu=65536),
                interface(f"eth{number}", addresses[number]),
            ),
            paths={address: None for address in addresses if address != addresses[number]},
            rdma=RdmaFacts(has_devices=True),
            model=ModelFolder(has_config=True, config={}),
        )
        for number, host in enumerate(settings.hosts)
    ]


def gpu(index: int = 0, **changes: Any) -> Gpu:
    """Return an idle GPU of 80 GiB."""
    idle = Gpu(
        index=index,
        uuid=f"GPU-{index}",
        name="NVIDIA H100 80GB HBM3",
        driver="580.95.05",
        memory_total=80 * GIB,
        memory_used=0,
        memory_free=79 * GIB,
        compute_capability="9.0",
    )
    return idle.model_copy(update=changes)


def interface(name: str, address: str, **changes: Any) -> Interface:
    """Return an interface that is up."""
    found = Interface(name=name, addresses=(address,), state="UP", mtu=9000, speed=200_000)
    return found.model_copy(update=changes)


def facts(
    settings: Settings,
    first: dict[str, Any] | None = None,
    image: ImageFacts | None = None,
    *,
    last: dict[str, Any] | None = None,
) -> Facts:
    """Return the facts of healthy hosts, with changes to the first and to the last host."""
    hosts = host_facts(settings)
    hosts[0] = HostFacts.model_validate({**dict(hosts[0]), **(first or {})})
    hosts[-1] = HostFacts.model_validate({**dict(hosts[-1]), **(last or {})})
    return Facts(stack="test", hosts=tuple(hosts), image=image or ImageFacts(digest=DIGEST))


def plan(hosts: int = 1, changes: dict[str, Any] | None = None, stack: str = "test") -> Plan:
    """Return the plan of ``settings`` on healthy hosts."""
    declared = settings(hosts, changes)
    return make_plan(declared, facts(declared), stack)


def watched(number: int, part: str = "ray-worker") -> Watched:
    """Return a container of host ``number``."""
    name = f"host-{number}"
    return Watched(name, SshTarget(f"ops@{name}"), f"tandem-test-{name}-{part}")


def safetensors(data: bytes) -> bytes:
    """Return a file of safetensors that holds one tensor."""
    tensor = {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}
    header = json.dumps({"__metadata__": {"format": "pt"}, "tensor": tensor}).encode()
    return len(header).to_bytes(8, "little") + header + data


def image_spec(hosts: int = 2, *, needs_ray: bool = True) -> ImageSpec:
    """Return what an image gate over so many hosts looks at."""
    members = (ImageHost(f"host-{n}", SshTarget(f"ops@host-{n}")) for n in range(1, hosts + 1))
    image = f"registry.example/vllm@{DIGEST}"
    return ImageSpec(tuple(members), image, needs_ray, "stacks/images/vllm@aaaaaaaaaaaa.json")


def weights_spec(hosts: int = 2, revision: str | None = None) -> WeightsSpec:
    """Return what a weights gate over so many hosts compares."""
    folders = tuple(
        WeightsFolder(
            host=f"host-{n}",
            target=SshTarget(f"ops@host-{n}"),
            volume=f"model-{n}",
            device="/srv/model",
            hashes=f"hashes-{n}",
        )
        for n in range(1, hosts + 1)
    )
    return WeightsSpec(folders, "vllm:1", "org/model", revision, "stacks/manifests/model.json")


def join_spec(hosts: int = 2, timeout_seconds: int = 10) -> JoinSpec:
    """Return what a join gate over hosts of one GPU waits for."""
    nodes = tuple(Node(watched(n), f"10.0.0.{n}", 1) for n in range(1, hosts + 1))
    return JoinSpec(nodes, "10.0.0.1:6379", timeout_seconds)


def ranks_spec(timeout_seconds: int = 10) -> RanksSpec:
    """Return what a ranks gate over two hosts of one GPU waits for."""
    hosts = tuple(
        RankHost(watched(n, part), f"10.0.0.{n}", (n - 1,), ("serve", str(n)))
        for n, part in ((1, "server"), (2, "rank"))
    )
    return RanksSpec(hosts, "10.0.0.1", 29501, timeout_seconds)


def ready_spec(*, expects_reasoning: bool = False, timeout_seconds: int = 10) -> ReadySpec:
    """Return what a ready gate with one worker waits for."""
    return ReadySpec(
        server=watched(1, "server"),
        others=(watched(2),),
        url="http://10.0.0.1:8000",
        served_name="model",
        expects_reasoning=expects_reasoning,
        timeout_seconds=timeout_seconds,
    )


def findings(
    hosts: int = 1,
    first: dict[str, Any] | None = None,
    *,
    last: dict[str, Any] | None = None,
    changes: dict[str, Any] | None = None,
    image: ImageFacts | None = None,
) -> list[Finding]:
    """Return what the checks say of healthy hosts with changes to the first and the last one."""
    declared = settings(hosts, changes)
    return check_facts(declared, facts(declared, first, image, last=last))
