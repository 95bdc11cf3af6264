"""What is no longer as an `up` left it: the hosts now, beside what was recorded of them then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.specs import SpecModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tandem.settings import HostSettings, Settings
    from tandem.survey.docker import ContainerFacts
    from tandem.survey.engine import Changed
    from tandem.survey.facts import Facts, HostFacts


class Drift(SpecModel):
    """One thing that changed."""

    what: str
    declared: str
    found: str
    since: str | None = None
    """When it changed, where that is known."""


def steady(settings: Settings, facts: Facts) -> dict[str, dict[str, str]]:
    """Return by host what stays as it is until somebody changes it, for an `up` to record.

    What was not seen is left out; empty when nobody looked.
    """
    return {
        host.name: _steady(host, seen)
        for host, seen in zip(settings.hosts, facts.hosts, strict=False)
        if seen.was_seen
    }


def hosts_drift(
    recorded: Mapping[str, Mapping[str, str]], settings: Settings, facts: Facts
) -> Iterator[Drift]:
    """Yield what a host's record and its facts say differently; only what both say counts."""
    for name, found in steady(settings, facts).items():
        before = recorded.get(name, {})
        for what, value in found.items():
            if what in before and before[what] != value:
                yield Drift(what=f"{name}: {what}", declared=before[what], found=value)


def resources_drift(changes: Iterable[Changed], facts: Facts) -> Iterator[Drift]:
    """Yield what the engine's refresh would change.

    That a container does not run is left to ``containers_drift``, which knows since when.
    """
    seen = {container.name for host in facts.hosts for container in host.containers}
    for change in changes:
        if change.property == "mustRun" and f"tandem-{change.resource}" in seen:
            continue
        what = f"{change.resource} {change.property or ''}".rstrip()
        yield Drift(what=what, declared=change.declared, found=change.found)


def containers_drift(facts: Facts) -> Iterator[Drift]:
    """Yield the deployment's containers that do not run, are not well, or were started again."""
    for host in facts.hosts:
        for container in host.containers:
            if container.stack != facts.stack or container.state is None:
                continue
            what, since = f"{host.name}: {container.name}", container.since
            if container.state != "running":
                yield Drift(what=what, declared="running", found=_ended(container), since=since)
                continue
            if container.restarts:
                found = f"{container.restarts} restarts"
                yield Drift(what=what, declared="0 restarts", found=found, since=since)
            if container.health == "unhealthy":
                yield Drift(what=what, declared="healthy", found="unhealthy")


def _ended(container: ContainerFacts) -> str:
    """Return how a container ended: its exit status, or its last words where it gave up itself."""
    status = f" (status {container.exit_code})" if container.exit_code else ""
    reason = f": {container.reason}" if container.reason else ""
    return f"{container.state}{status}{reason}"


def weights_drift(lines: Iterable[str]) -> Iterator[Drift]:
    """Yield the files that are not the manifest's, from the weights gate's lines."""
    for line in lines:
        host, _, found = line.partition(": ")
        found = found.partition("; ")[0]
        yield Drift(what=f"{host}: weights", declared="as in the manifest", found=found)


def _steady(host: HostSettings, seen: HostFacts) -> dict[str, str]:
    interface = seen.interface_of(str(host.address))
    found = {
        "kernel": seen.system.kernel,
        "Docker": seen.docker.version,
        "NVIDIA driver": seen.gpus[0].driver if seen.gpus else None,
        "GPUs": ", ".join(gpu.name for gpu in seen.gpus) or None,
        "interface": interface.name if interface else None,
        "RoCE v2 GID index": _gid_index(host, seen),
        "weights": str(seen.model.weights_bytes) if seen.model.weights_bytes else None,
    }
    return {what: value for what, value in found.items() if value is not None}


def _gid_index(host: HostSettings, seen: HostFacts) -> str | None:
    for port in seen.rdma.ports:
        index = port.roce_v2_index(str(host.address))
        if index is not None:
            return f"{port.device} {index}"
    return None
