"""From what Docker answered and the probe printed to HostFacts.

The probe prints sections, not JSON: a POSIX shell can't quote what programs say, and every section
is then what a program printed, word for word, as recorded hosts in the tests are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.survey.base import sections
from tandem.survey.docker import read_containers, read_docker, read_images
from tandem.survey.facts import HostFacts
from tandem.survey.gpus import read_gpus
from tandem.survey.machine import read_clock, read_disks, read_memory, read_system
from tandem.survey.model_folder import read_model_folder, read_volume
from tandem.survey.network import read_interfaces, read_listeners, read_paths, read_routes
from tandem.survey.rdma import read_rdma

if TYPE_CHECKING:
    from collections.abc import Mapping

SECTIONS = (
    *("started", "system", "memory", "cdi", "hook", "volume", "disks"),
    *("gpus", "gpu-processes", "gpu-cgroups"),
    *("links", "addresses", "speeds", "routes", "paths", "rdma", "sockets", "programs"),
    *("weights", "index", "config", "ended"),
)
"""The titles of what ``probe.sh`` prints, in its order; those of GPUs only with NVIDIA's driver."""


def host_facts(
    name: str,
    stack: str,
    docker: Mapping[str, Any],
    printed: str,
    *,
    sent: float = 0,
    received: float = 0,
) -> HostFacts:
    """Read Docker's answers, and what ``probe.sh`` printed between two moments of our clock.

    ``stack`` tells the deployment's own containers from others; moments in seconds since 1970.
    """
    said = sections(printed, SECTIONS)
    if said is None:
        return HostFacts(name=name, problem="the host did not run the survey's shell script")
    containers = read_containers(docker)
    own = [container for container in containers if container.stack == stack]
    # Of a container that has stopped, somebody else may have taken the port.
    running = [container for container in own if container.state == "running"]
    own_ports = {port for container in running for port in container.ports}
    published = {port: container.name for container in containers for port in container.published}
    listeners = read_listeners(said["sockets"], said["programs"], published)
    gpus = read_gpus(
        said["gpus"],
        said["gpu-processes"],
        said["gpu-cgroups"],
        {container.id for container in own},
    )
    disks = read_disks(said["disks"])
    return HostFacts(
        name=name,
        system=read_system(said["system"]),
        memory=read_memory(said["memory"]),
        clock=read_clock(said["started"], said["ended"], sent, received),
        docker=read_docker(docker, said["cdi"], said["hook"]),
        docker_disk=disks.get("docker"),
        model_disk=disks.get("model"),
        containers=containers,
        images=read_images(docker),
        gpus=gpus,
        gpu_problem=None if gpus else said["gpus"].strip().rpartition("\n")[2] or None,
        interfaces=read_interfaces(said["links"], said["addresses"], said["speeds"]) or None,
        routes=read_routes(said["routes"]),
        paths=read_paths(said["paths"]),
        rdma=read_rdma(said["rdma"]),
        listeners=tuple(found for found in listeners if found.port not in own_ports),
        model=read_model_folder(said["config"], said["weights"], said["index"]),
        fetched_bytes=read_volume(said["volume"]),
    )
