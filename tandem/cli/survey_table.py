"""What was seen of the hosts, as text of at most 100 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.cli.columns import columns, paragraphs, short_digest
from tandem.findings import Severity
from tandem.units import GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.findings import Finding
    from tandem.settings import Settings
    from tandem.survey import Facts, HostFacts
    from tandem.survey.docker import ContainerFacts
    from tandem.survey.gpus import Gpu
    from tandem.survey.machine import DiskFacts

_UNKNOWN = "-"


def table(settings: Settings, facts: Facts, findings: Sequence[Finding]) -> str:
    """Return a part for each kind of fact, with a row for each host, and the findings."""
    seen = [host for host in facts.hosts if host.was_seen]
    parts = [
        [("host", "system", "kernel", "memory free", "clock"), *map(_machine, seen)],
        [("host", "Docker", "disk free", "image", "model", "weights"), *map(_docker, seen)],
        [
            ("host", "address", "interface", "state", "MTU", "Gbit/s", "RDMA", "GID", "reaches"),
            *_network(settings, facts),
        ],
        [("host", "GPU", "name", "driver", "memory free", "in use by"), *_gpus(seen)],
        [("host", "container", "state", "restarts", "image"), *_containers(seen, facts.stack)],
    ]
    lines = [_summary(facts, findings), ""]
    for part in parts:
        if len(part) > 1:
            lines += [*columns(part), ""]
    lines += paragraphs(f"{finding.severity}: {finding}" for finding in findings)
    return "\n".join(lines).rstrip()


def _summary(facts: Facts, findings: Sequence[Finding]) -> str:
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    hosts = _counted(len(facts.hosts), "host")
    warnings = _counted(len(findings) - errors, "warning")
    return f"{facts.stack}: {hosts}, {_counted(errors, 'error')}, {warnings}"


def _machine(host: HostFacts) -> tuple[str, ...]:
    memory, clock = host.memory, host.clock
    return (
        host.name,
        host.system.os or _UNKNOWN,
        f"{host.system.kernel or _UNKNOWN} {host.system.architecture or ''}".rstrip(),
        _of(memory.available, memory.total) if memory else _UNKNOWN,
        f"{clock.offset:+.1f} s ± {clock.uncertainty:.1f}" if clock else _UNKNOWN,
    )


def _docker(host: HostFacts) -> tuple[str, ...]:
    docker, weights = host.docker, host.model.weights_bytes
    kind = ", rootless" if docker.rootless else ""
    return (
        host.name,
        f"{docker.version}, {docker.storage}{kind}" if docker.version else "not usable",
        _disk(host.docker_disk),
        short_digest(host.image.id) if host.image else "not there",
        "there" if host.model.has_config else "not there",
        _size(weights) if weights is not None else _UNKNOWN,
    )


def _network(settings: Settings, facts: Facts) -> Iterator[tuple[str, ...]]:
    for declared, host in zip(settings.hosts, facts.hosts, strict=True):
        if not host.was_seen:
            continue
        address = str(declared.address)
        found = host.interface_of(address)
        reached = sum(problem is None for problem in host.paths.values())
        gids = [
            (port, index)
            for port in host.rdma.ports
            if (index := port.roce_v2_index(address)) is not None
        ]
        yield (
            host.name,
            address,
            found.name if found else "not there",
            (found and found.state) or _UNKNOWN,
            str((found and found.mtu) or _UNKNOWN),
            f"{found.speed / 1000:g}" if found and found.speed else _UNKNOWN,
            ", ".join(f"{port.device} {port.state}" for port, _ in gids) or _UNKNOWN,
            ", ".join(str(index) for _, index in gids) or _UNKNOWN,
            f"{reached} of {len(settings.hosts) - 1}" if settings.spans_hosts else _UNKNOWN,
        )


def _gpus(hosts: Sequence[HostFacts]) -> Iterator[tuple[str, ...]]:
    for host in hosts:
        for gpu in host.gpus:
            users = ", ".join(f"{process.name} ({process.pid})" for process in gpu.processes)
            yield (
                host.name,
                str(gpu.index),
                gpu.name,
                gpu.driver,
                _gpu_memory(gpu),
                users or "nobody",
            )


def _gpu_memory(gpu: Gpu) -> str:
    if gpu.memory_total is None or gpu.memory_free is None:
        return "the host's"
    return _of(gpu.memory_free, gpu.memory_total)


def _containers(hosts: Sequence[HostFacts], stack: str) -> Iterator[tuple[str, ...]]:
    for host in hosts:
        for container in host.containers:
            if container.stack == stack:
                yield (
                    host.name,
                    container.name,
                    _state(container),
                    _UNKNOWN if container.restarts is None else str(container.restarts),
                    short_digest(container.image_id) if container.image_id else _UNKNOWN,
                )


def _state(container: ContainerFacts) -> str:
    health = f", {container.health}" if container.health else ""
    return f"{container.state or _UNKNOWN}{health}"


def _disk(disk: DiskFacts | None) -> str:
    return _of(disk.free, disk.size) if disk else _UNKNOWN


def _of(part: int, whole: int) -> str:
    return f"{part / GIB:.1f} of {whole / GIB:.1f} GiB"


def _size(size: int) -> str:
    return f"{size / GIB:.1f} GiB" if size >= GIB else f"{size / MIB:.1f} MiB"


def _counted(count: int, word: str) -> str:
    return f"{count or 'no'} {word}{'' if count == 1 else 's'}"
