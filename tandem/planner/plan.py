"""The Plan: one frozen value that says all that is to be, and all that speaks against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import SecretStr

from tandem.errors import RefusedPlan
from tandem.findings import Finding, Severity
from tandem.gates.spec import (
    ImageHost,
    ImageSpec,
    JoinSpec,
    KeepSpec,
    Node,
    ReadySpec,
    Record,
    ReleaseSpec,
    Watched,
    WeightsSpec,
)
from tandem.planner.arguments import expects_reasoning, server_url
from tandem.planner.assess import assess, image_digest
from tandem.planner.checks import check_unseen
from tandem.planner.containers import KEY_FILE, Containers
from tandem.planner.endings import keep_specs, release_spec
from tandem.planner.memory.result import Fit
from tandem.planner.memory.starts import record
from tandem.planner.specs import ContainerSpec, Rank, SpecModel, VolumeSpec, fingerprint
from tandem.planner.verification import weights_spec
from tandem.settings import IMAGES
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
    hashes_volume: VolumeSpec
    """What was hashed of the model's files, so that it is not read again."""
    worker: ContainerSpec | None
    kept: dict[str, KeepSpec]
    """How the log of each container is kept before it goes, by its name."""
    release: ReleaseSpec
    """When the host counts as free again."""
    is_retired: bool


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
    fit: Fit | None
    """How the memory is shared out; None when the model's config.json is not known."""
    hosts: tuple[HostPlan, ...]
    """The first one is the head."""
    image: ImageSpec
    """What has to hold of the image on every host, before its Python reads the weights."""
    weights: WeightsSpec
    """What has to hold before any container starts."""
    ray: RayPlan | None
    """None when there is a single host."""
    server: ContainerSpec
    ready: ReadySpec
    model: str
    served_name: str
    endpoint: str
    api_key: SecretStr | None
    """Key that clients have to send, or None: everybody may ask."""

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
    assessment = assess(settings, facts)
    errors = (*assessment.errors, *check_unseen(settings, facts))
    if errors:
        raise RefusedPlan(errors)
    containers = Containers(settings, stack, _interfaces(settings, facts))
    image = f"{settings.image.repository}@{image_digest(settings, facts)}"
    hosts = tuple(_host(settings, containers, host, image, stack) for host in settings.hosts)
    server = containers.server()
    ray = _ray(settings, containers, hosts) if settings.spans_hosts else None
    return Plan(
        stack=stack,
        findings=assessment.findings,
        ranks=assessment.ranks,
        fit=assessment.fit,
        hosts=hosts,
        image=_image(settings, image),
        weights=weights_spec(settings, containers, image),
        ray=ray,
        server=server,
        ready=_ready(settings, hosts, ray, server, record(assessment.start, assessment.fit)),
        model=settings.model.id,
        served_name=settings.model.name,
        endpoint=f"{server_url(settings)}/v1",
        api_key=settings.api_key,
    )


def _host(
    settings: Settings, containers: Containers, host: HostSettings, image: str, stack: str
) -> HostPlan:
    return HostPlan(
        name=host.name,
        target=host.target,
        address=str(host.address),
        image=image,
        model_volume=containers.model_volume(host),
        hashes_volume=containers.hashes_volume(host),
        worker=None if host == settings.head else containers.worker(host),
        kept=keep_specs(host, containers.everywhere),
        release=release_spec(settings, stack, host),
        is_retired=host.retired,
    )


def _image(settings: Settings, image: str) -> ImageSpec:
    hosts = tuple(ImageHost(host.name, host.target) for host in settings.hosts)
    needs_ray = settings.spans_hosts and settings.backend == "ray"
    return ImageSpec(hosts, image, needs_ray, (IMAGES / image_record(image)).as_posix())


def image_record(image: str) -> str:
    """Return the name of the file that keeps what an image holds."""
    repository, _, digest = image.partition("@sha256:")
    return f"{repository.rpartition('/')[2].partition(':')[0]}@{digest[:12]}.json"


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
    settings: Settings,
    hosts: tuple[HostPlan, ...],
    ray: RayPlan | None,
    server: ContainerSpec,
    kept: Record | None,
) -> ReadySpec:
    head = hosts[0]
    return ReadySpec(
        server=Watched(head.name, head.target, server.name),
        others=tuple(node.watched for node in ray.join.nodes) if ray else (),
        url=server_url(settings),
        served_name=settings.model.name,
        expects_reasoning=expects_reasoning(settings),
        timeout_seconds=settings.serve.ready_timeout,
        key_file=KEY_FILE if settings.api_key else None,
        record=kept,
    )


def _interfaces(settings: Settings, facts: Facts) -> dict[str, str | None]:
    """Return the name of each host's interface: as declared, or as found from the address."""
    seen = {
        host.name: host.interface_of(str(declared.address))
        for declared, host in zip(settings.hosts, facts.hosts, strict=False)
    }
    return {
        host.name: host.interface or (found.name if (found := seen.get(host.name)) else None)
        for host in settings.hosts
    }
