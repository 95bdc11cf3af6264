"""Docker on a host: what it is, which containers it has, and the image."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tandem.survey.base import FactsModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""What images call the processors that ``uname -m`` names."""


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
    health: str | None = None
    """What Docker's health check says: ``starting``, ``healthy``, ``unhealthy``; None: no check."""
    exit_code: int | None = None
    """Its exit status; None while it runs."""
    reason: str | None = None
    """The last line of its log, read when it ended with 0: then it gave up restarting."""


class LocalImage(FactsModel):
    """An image that a host has already."""

    id: str
    names: frozenset[str] = frozenset()
    """``repository:tag`` and ``repository@sha256:…``; what was pulled by digest has no tag."""
    architecture: str
    """As images name it: ``amd64``, ``arm64``."""
    size: int
    """Bytes, unpacked."""


def read_docker(answers: Mapping[str, Any], cdi: str, hook: str) -> DockerFacts:
    """Read what Docker answered of itself, CDI files for NVIDIA, and the hook's place."""
    version, data = answers.get("version") or {}, answers.get("info") or {}
    if "Version" not in version:
        return DockerFacts(problem=answers.get("problem") or version.get("message") or "no answer")
    runtimes = tuple(sorted(data.get("Runtimes") or {}))
    # DiscoveredDevices is there since Docker 28.2.
    devices = [str(device.get("ID")) for device in data.get("DiscoveredDevices") or []]
    has_cdi = bool(cdi) or any(device.startswith("nvidia.com/gpu") for device in devices)
    registries = (data.get("RegistryConfig") or {}).get("IndexConfigs") or {}
    ways = {"runtime": "nvidia" in runtimes, "hook": bool(hook), "CDI": has_cdi}
    is_known = "Runtimes" in data
    return DockerFacts(
        version=version["Version"],
        api=version.get("ApiVersion"),
        rootless="name=rootless" in (data.get("SecurityOptions") or []),
        storage=data.get("Driver"),
        runtimes=runtimes,
        insecure_registries=tuple(
            sorted(name for name, registry in registries.items() if not registry.get("Secure"))
        ),
        gpu_ways=tuple(name for name, is_there in ways.items() if is_there) if is_known else None,
    )


def read_containers(answers: Mapping[str, Any]) -> tuple[ContainerFacts, ...]:
    """Read the list of all containers, and what Docker tells of the deployment's own."""
    details = {one["Id"]: _details(one) for one in answers.get("own") or () if "Id" in one}
    reasons = answers.get("reasons") or {}
    found = []
    for one in answers.get("containers") or ():
        labels, identity = one.get("Labels") or {}, one["Id"]
        ports = re.findall(r"\d+", labels.get("dev.tandem.ports", ""))
        known = ContainerFacts(
            id=identity,
            name=(one.get("Names") or [""])[0].removeprefix("/"),
            stack=labels.get("dev.tandem.stack", ""),
            role=labels.get("dev.tandem.role", ""),
            ports=frozenset(int(port) for port in ports),
            published=_published(one.get("Ports") or ()),
            reason=reasons.get(identity) or None,
        )
        found.append(known.model_copy(update=details.get(identity, {})))
    return tuple(found)


def read_images(answers: Mapping[str, Any]) -> tuple[LocalImage, ...]:
    """Read what Docker tells of the images of the declared repository."""
    return tuple(
        LocalImage(
            id=one["Id"],
            architecture=one["Architecture"],
            size=one["Size"],
            names=frozenset([*(one.get("RepoTags") or ()), *(one.get("RepoDigests") or ())]),
        )
        for one in answers.get("images") or ()
        if "Architecture" in one
    )


def _details(container: Mapping[str, Any]) -> dict[str, Any]:
    state = container["State"]
    is_running = state.get("Running")
    return {
        "state": state.get("Status"),
        "restarts": container.get("RestartCount"),
        "image_id": container.get("Image"),
        "since": state.get("StartedAt" if is_running else "FinishedAt"),
        "health": (state.get("Health") or {}).get("Status"),
        "exit_code": None if is_running else state.get("ExitCode"),
    }


def _published(ports: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    return frozenset(
        port["PublicPort"] for port in ports if port["Type"] == "tcp" and "PublicPort" in port
    )
