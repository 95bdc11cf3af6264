"""What already runs on the hosts and has the deployment's names or ports."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from tandem.findings import Finding, error
from tandem.planner.arguments import listen_address
from tandem.planner.backends import backend_of
from tandem.planner.backends.backend import TakenPort
from tandem.planner.containers import Containers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings
    from tandem.survey.facts import HostFacts


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


def check_ports(settings: Settings, hosts: Iterable[Place], stack: str) -> Iterator[Finding]:
    """Yield ports of the first host that somebody else has (vllm#7514, ray#13345)."""
    own = TakenPort("tandem:serve.port", settings.serve.port, listen_address(settings))
    ports = (own, *backend_of(settings).ports())
    for first, port in product((host.seen for host in hosts if host.is_first), ports):
        for who in (*_who_listens(port, first), *_who_will(port, first, stack)):
            yield error(
                "port-taken",
                port.key,
                f"{who} port {port.number} of {settings.first_host.name} already",
                "stop it or choose another port",
            )


def _who_listens(port: TakenPort, host: HostFacts) -> Iterator[str]:
    for found in host.listeners:
        if found.port == port.number and found.holds(port.address):
            who = f"something ({found.program})" if found.program else "something"
            yield f"{who} listens on"


def _who_will(port: TakenPort, host: HostFacts, stack: str) -> Iterator[str]:
    """Yield the container of another deployment that has the port, though it may not listen yet."""
    for container in host.containers if port.is_late else ():
        if container.stack != stack and port.number in container.ports:
            yield f"{container.name} of the deployment {container.stack} has"
