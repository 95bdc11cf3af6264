"""What already runs on the hosts and has the deployment's names or ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error
from tandem.planner.names import container_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings


def check_names(hosts: Iterable[Place], stack: str) -> Iterator[Finding]:
    """Yield containers that have a name of the deployment but are not its own."""
    for host in hosts:
        parts = ("ray-head", "ray-worker", "server")
        names = {container_name(stack, host.name, part) for part in parts}
        for container in host.seen.containers:
            if container.name in names and container.stack != stack:
                yield error(
                    "name-taken",
                    f"{host.path}.name",
                    f"{host.name} has a container {container.name} that is not of this deployment",
                    "rename or remove it there",
                )


def check_ports(settings: Settings, hosts: Iterable[Place]) -> Iterator[Finding]:
    """Yield ports of the head that somebody else listens on (vllm#7514, ray#13345)."""
    ports = {"tandem:serve.port": settings.serve.port}
    if settings.spans_hosts:
        ports["tandem:ray.port"] = settings.ray.port
    for host in hosts:
        if not host.is_head:
            continue
        taken = {listener.port: listener.program for listener in host.seen.listeners}
        for path, port in ports.items():
            if port in taken:
                who = f"something ({taken[port]})" if taken[port] else "something"
                yield error(
                    "port-taken",
                    path,
                    f"{who} listens on port {port} of {host.name} already",
                    "stop it or choose another port",
                )
