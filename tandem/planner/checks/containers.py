"""What already runs on the hosts and has the deployment's names or ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error
from tandem.planner.arguments import listen_address
from tandem.planner.backends import backend_of
from tandem.planner.containers import Containers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings


def check_names(settings: Settings, hosts: Iterable[Place], stack: str) -> Iterator[Finding]:
    """Yield containers that have a name of the deployment but are not its own."""
    names = {spec.name for spec in backend_of(settings).containers(Containers(settings, stack, {}))}
    for host in hosts:
        for container in host.seen.containers:
            if container.name in names and container.stack != stack:
                yield error(
                    "name-taken",
                    f"{host.path}.name",
                    f"{host.name} has a container {container.name} that is not of this deployment",
                    "rename or remove it there",
                )


def check_ports(settings: Settings, hosts: Iterable[Place]) -> Iterator[Finding]:
    """Yield ports of the first host that somebody else listens on (vllm#7514, ray#13345)."""
    ports = {"tandem:serve.port": (settings.serve.port, listen_address(settings))}
    ports |= backend_of(settings).ports()
    listeners = [found for host in hosts if host.is_head for found in host.seen.listeners]
    for path, (port, address) in ports.items():
        for found in listeners:
            if found.port == port and found.holds(address):
                who = f"something ({found.program})" if found.program else "something"
                yield error(
                    "port-taken",
                    path,
                    f"{who} listens on port {port} of {settings.head.name} already",
                    "stop it or choose another port",
                )
