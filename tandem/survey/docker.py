"""Docker on a host: what it is, which containers it has, and the image."""

from __future__ import annotations

import json
import re
from typing import Any

from tandem.survey.base import FactsModel, whole

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""What images call the processors that ``uname -m`` names."""

_VERSION = r"(\d+\.\S+) (\d+\.\d+)"


class DockerFacts(FactsModel):
    """Docker, as far as this user may ask it."""

    problem: str | None = None
    """What Docker answered instead of its version, or None."""
    version: str | None = None
    api: str | None = None
    rootless: bool = False
    storage: str | None = None
    """The storage driver, e.g. ``overlay2``."""
    runtimes: tuple[str, ...] = ()
    insecure_registries: tuple[str, ...] = ()
    """Registries that the daemon is told to trust without TLS."""
    gpu_ways: tuple[str, ...] | None = None
    """What lets Docker hand out NVIDIA GPUs: ``runtime``, ``hook``, ``CDI``; None: not seen.

    ``--gpus`` takes the program nvidia-container-runtime-hook (moby, daemon/nvidia_linux.go), or
    since Docker 28.3 CDI.
    """


class ContainerFacts(FactsModel):
    """A container, whether it runs or not."""

    id: str
    name: str
    stack: str = ""
    """The label dev.tandem.stack; empty on a container that is not Tandem's."""
    role: str = ""
    published: frozenset[int] = frozenset()
    """TCP ports of the host that lead into it."""
    ports: frozenset[int] = frozenset()
    """The label dev.tandem.ports: what it listens on in the host's network."""
    state: str | None = None
    """``running``, ``exited`` and so on; seen of the deployment's own containers alone."""
    restarts: int | None = None
    image_id: str | None = None
    since: str | None = None
    """When it started, or ended when it does not run: a time as Docker writes it."""


class LocalImage(FactsModel):
    """An image that a host has already."""

    id: str
    names: frozenset[str] = frozenset()
    """``repository:tag`` and ``repository@sha256:…``; what was pulled by digest has no tag."""
    architecture: str
    """As images name it: ``amd64``, ``arm64``."""
    size: int
    """Bytes, unpacked."""


def read_docker(version: str, info: str, cdi: str, hook: str) -> DockerFacts:
    """Read ``docker version``, ``docker info`` in JSON, CDI files for NVIDIA, the hook's place."""
    # A warning may stand before the version.
    last = version.rpartition("\n")[2]
    found = re.fullmatch(_VERSION, last)
    if found is None:
        return DockerFacts(problem=last or "no answer")
    data = _json(info)
    runtimes = tuple(sorted(data.get("Runtimes") or {}))
    # DiscoveredDevices is there since Docker 28.2.
    devices = [str(device.get("ID")) for device in data.get("DiscoveredDevices") or []]
    has_cdi = bool(cdi) or any(device.startswith("nvidia.com/gpu") for device in devices)
    registries = (data.get("RegistryConfig") or {}).get("IndexConfigs") or {}
    ways = {"runtime": "nvidia" in runtimes, "hook": bool(hook), "CDI": has_cdi}
    return DockerFacts(
        version=found[1],
        api=found[2],
        rootless="name=rootless" in (data.get("SecurityOptions") or []),
        storage=data.get("Driver"),
        runtimes=runtimes,
        insecure_registries=tuple(
            sorted(name for name, registry in registries.items() if not registry.get("Secure"))
        ),
        gpu_ways=tuple(name for name, is_there in ways.items() if is_there) if data else None,
    )


def read_containers(listed: str, inspected: str) -> tuple[ContainerFacts, ...]:
    """Read ``docker ps`` of all containers, and ``docker inspect`` of the deployment's own."""
    details = {
        row[0]: dict(state=row[1], restarts=whole(row[2]), image_id=row[3], since=row[4])
        for row in (line.split("\t") for line in inspected.splitlines())
        if len(row) == 5
    }
    found = []
    for line in listed.splitlines():
        row = line.split("\t")
        if len(row) != 6:
            continue
        identity, name, stack, role, ports, published = row
        found.append(
            ContainerFacts.model_validate(
                {
                    "id": identity,
                    "name": name,
                    "stack": stack,
                    "role": role,
                    "ports": frozenset(int(port) for port in re.findall(r"\d+", ports)),
                    # 0.0.0.0:8000->80/tcp, [::]:8000->80/tcp, 0.0.0.0:90-92->90-92/tcp
                    "published": _published(published),
                    **details.get(identity, {}),
                }
            )
        )
    return tuple(found)


def read_images(printed: str) -> tuple[LocalImage, ...]:
    """Read ``docker image inspect``, an image a line."""
    found = []
    for line in printed.splitlines():
        row = line.split("\t")
        size = whole(row[2]) if len(row) == 4 else None
        if size is not None:
            names = frozenset(row[3].split())
            found.append(LocalImage(id=row[0], architecture=row[1], size=size, names=names))
    return tuple(found)


def _published(printed: str) -> frozenset[int]:
    ranges = re.findall(r":(\d+)(?:-(\d+))?->[\d-]+/tcp", printed)
    return frozenset(
        port for first, last in ranges for port in range(int(first), int(last or first) + 1)
    )


def _json(printed: str) -> dict[str, Any]:
    try:
        data = json.loads(printed)
    except json.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}
