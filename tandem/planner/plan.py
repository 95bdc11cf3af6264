"""The Plan: one frozen value that says all that is to be, and all that speaks against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.errors import RefusedPlan
from tandem.findings import Finding, Severity
from tandem.gates.spec import JoinSpec, Node, ReadySpec, Watched
from tandem.planner.arguments import expects_reasoning, listen_address
from tandem.planner.checks import check_facts, check_unseen
from tandem.planner.containers import Containers
from tandem.planner.layout import layout
from tandem.planner.rules import check
from tandem.planner.specs import ContainerSpec, Rank, SpecModel, VolumeSpec, fingerprint
from tandem.ssh import SshTarget

if TYPE_CHECKING:
    from tandem.settings import HostSettings, Settings
    from tandem.survey.facts import Facts


class HostPlan(SpecModel):
    """What one host gets."""

    name: str
    target: SshTarget
    address: str
    image: str
    """``repository@sha256:…``."""
    model_volume: VolumeSpec
    worker: ContainerSpec | None


class RayPlan(SpecModel):
    """Ray over all hosts."""

    head: ContainerSpec
    session_volume: VolumeSpec
    fingerprint: str
    """Changes when any Ray container does: then all are replaced together."""
    join: JoinSpec


class Plan(SpecModel):
    """A whole deployment."""

    stack: str
    findings: tuple[Finding, ...]
    ranks: tuple[Rank, ...]
    hosts: tuple[HostPlan, ...]
    """The first one is the head."""
    ray: RayPlan | None
    """None when there is a single host."""
    server: ContainerSpec
    ready: ReadySpec
    model: str
    served_name: str
    endpoint: str

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Return the findings that stop nothing."""
        return tuple(f for f in self.findings if f.severity is Severity.WARNING)

    @property
    def containers(self) -> tuple[ContainerSpec, ...]:
        """Return every container in the order in which they start."""
        ray = (self.ray.head,) if self.ray else ()
        workers = (host.worker for host in self.hosts if host.worker)
        return (*ray, *workers, self.server)


def make_plan(settings: Settings, facts: Facts, stack: str) -> Plan:
    """Decide everything about a deployment.

    Raises RefusedPlan with the errors among the findings when it can't work.
    """
    findings = [*check(settings), *check_facts(settings, facts), *check_unseen(settings, facts)]
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        raise RefusedPlan(errors)
    containers = Containers(settings, stack, _interfaces(settings, facts))
    image = f"{settings.image.repository}@{_digest(settings, facts)}"
    hosts = tuple(_host(settings, containers, host, image) for host in settings.hosts)
    server = containers.server()
    ray = _ray(settings, containers, hosts) if settings.spans_hosts else None
    return Plan(
        stack=stack,
        findings=tuple(findings),
        ranks=layout(settings),
        hosts=hosts,
        ray=ray,
        server=server,
        ready=_ready(settings, hosts, ray, server),
        model=settings.model.id,
        served_name=settings.model.name,
        endpoint=f"{_url(settings)}/v1",
    )


def _host(settings: Settings, containers: Containers, host: HostSettings, image: str) -> HostPlan:
    return HostPlan(
        name=host.name,
        target=host.target,
        address=str(host.address),
        image=image,
        model_volume=containers.model_volume(host),
        worker=None if host == settings.head else containers.worker(host),
    )


def _ray(settings: Settings, containers: Containers, hosts: tuple[HostPlan, ...]) -> RayPlan:
    head = containers.head()
    members = (head, *(host.worker for host in hosts if host.worker))
    nodes = tuple(
        Node(Watched(host.name, host.target, spec.name), host.address, declared.gpu_count)
        for host, spec, declared in zip(hosts, members, settings.hosts, strict=True)
    )
    return RayPlan(
        head=head,
        session_volume=containers.session_volume(),
        fingerprint=fingerprint(members),
        join=JoinSpec(nodes, containers.ray_address, settings.ray.join_timeout),
    )


def _ready(
    settings: Settings, hosts: tuple[HostPlan, ...], ray: RayPlan | None, server: ContainerSpec
) -> ReadySpec:
    head = hosts[0]
    return ReadySpec(
        server=Watched(head.name, head.target, server.name),
        others=tuple(node.watched for node in ray.join.nodes) if ray else (),
        url=_url(settings),
        served_name=settings.model.name,
        expects_reasoning=expects_reasoning(settings),
        timeout_seconds=settings.serve.ready_timeout,
    )


def _url(settings: Settings) -> str:
    listen = listen_address(settings)
    host = str(settings.head.address) if listen == "0.0.0.0" else listen
    return f"http://{host}:{settings.serve.port}"


def _interfaces(settings: Settings, facts: Facts) -> dict[str, str | None]:
    """Return the name of each host's interface: as declared, or as found from the address."""
    found = {seen.name: seen for seen in facts.hosts}
    names: dict[str, str | None] = {}
    for host in settings.hosts:
        seen = found.get(host.name)
        interface = seen.interface_of(str(host.address)) if seen else None
        names[host.name] = host.interface or (interface.name if interface else None)
    return names


def _digest(settings: Settings, facts: Facts) -> str | None:
    return settings.image.digest or facts.image.digest
