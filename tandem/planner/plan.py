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
    RanksSpec,
    ReadySpec,
    Record,
    ReleaseSpec,
    Watched,
    WeightsSpec,
)
from tandem.planner.arguments import expects_reasoning, server_url
from tandem.planner.assess import assess, image_digest
from tandem.planner.backends import backend_of
from tandem.planner.checks import check_unseen
from tandem.planner.containers import KEY_FILE, Containers
from tandem.planner.endings import keep_specs, release_spec
from tandem.planner.memory.result import Fit
from tandem.planner.memory.starts import record
from tandem.planner.specs import ContainerSpec, Rank, SpecModel, VolumeSpec
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
    kept: dict[str, KeepSpec]
    """How the log of each container is kept before it goes, by its name."""
    release: ReleaseSpec
    """When the host counts as free again."""
    is_retired: bool


class Plan(SpecModel):
    """A whole deployment."""

    stack: str
    findings: tuple[Finding, ...]
    ranks: tuple[Rank, ...]
    fit: Fit | None
    """How the memory is shared out; None when the model's config.json is not known."""
    hosts: tuple[HostPlan, ...]
    """The first one has the API."""
    image: ImageSpec
    """What has to hold of the image on every host, before its Python reads the weights."""
    weights: WeightsSpec
    """What has to hold before any container starts."""
    containers: tuple[ContainerSpec, ...]
    """In the order in which they start; the one with the API is the last."""
    join: JoinSpec | RanksSpec | None
    """What has to hold of the ranks together; None where nothing has to join."""
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
    def server(self) -> ContainerSpec:
        """Return the container with the API."""
        return self.containers[-1]


def make_plan(settings: Settings, facts: Facts, stack: str) -> Plan:
    """Decide everything about a deployment.

    Raises RefusedPlan with the errors among the findings when it can't work.
    """
    assessment = assess(settings, facts)
    errors = (*assessment.errors, *check_unseen(settings, facts))
    if errors:
        raise RefusedPlan(errors)
    backend = backend_of(settings)
    make = Containers(settings, stack, _interfaces(settings, facts))
    containers = backend.containers(make)
    image = f"{settings.image.repository}@{image_digest(settings, facts)}"
    return Plan(
        stack=stack,
        findings=assessment.findings,
        ranks=assessment.ranks,
        fit=assessment.fit,
        hosts=tuple(
            _host(settings, make, host, image, stack, containers) for host in settings.hosts
        ),
        image=_image(settings, image, needs_ray=backend.needs_ray),
        weights=weights_spec(settings, make, image),
        containers=containers,
        join=backend.join(containers),
        ready=_ready(settings, containers, record(assessment.start, assessment.fit)),
        model=settings.model.id,
        served_name=settings.model.name,
        endpoint=f"{server_url(settings)}/v1",
        api_key=settings.api_key,
    )


def _host(
    settings: Settings,
    make: Containers,
    host: HostSettings,
    image: str,
    stack: str,
    containers: tuple[ContainerSpec, ...],
) -> HostPlan:
    return HostPlan(
        name=host.name,
        target=host.target,
        address=str(host.address),
        image=image,
        model_volume=make.model_volume(host),
        hashes_volume=make.hashes_volume(host),
        kept=keep_specs(host, containers),
        release=release_spec(settings, stack, host),
        is_retired=host.retired,
    )


def _image(settings: Settings, image: str, *, needs_ray: bool) -> ImageSpec:
    hosts = tuple(ImageHost(host.name, host.target) for host in settings.hosts)
    return ImageSpec(hosts, image, needs_ray, (IMAGES / image_record(image)).as_posix())


def image_record(image: str) -> str:
    """Return the name of the file that keeps what an image holds."""
    repository, _, digest = image.partition("@sha256:")
    return f"{repository.rpartition('/')[2].partition(':')[0]}@{digest[:12]}.json"


def _ready(
    settings: Settings, containers: tuple[ContainerSpec, ...], kept: Record | None
) -> ReadySpec:
    targets = {host.name: host.target for host in settings.hosts}
    *others, server = (Watched(spec.host, targets[spec.host], spec.name) for spec in containers)
    return ReadySpec(
        server=server,
        others=tuple(others),
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
