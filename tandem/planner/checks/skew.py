"""What should be the same on all hosts, and is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings
    from tandem.survey.facts import HostFacts

PATH = "tandem:hosts"


def check_skew(settings: Settings, hosts: Sequence[Place]) -> Iterator[Finding]:
    """Yield versions that differ between the hosts, with the values."""
    seen = [host.seen for host in hosts]
    machines = {host.name: host.system.architecture for host in seen}
    if said := _differing(machines):
        yield error(
            "architecture-skew",
            PATH,
            f"the hosts have processors of different kinds: {said}",
            "take hosts of one architecture: the ranks exchange the memory of one program",
        )
    same = "bring the hosts to the same version"
    versions = {
        "driver-skew": ({host.name: _driver(host) for host in seen}, "NVIDIA driver", same),
        "kernel-skew": ({host.name: host.system.kernel for host in seen}, "Linux kernel", same),
        "docker-skew": ({host.name: host.docker.version for host in seen}, "Docker", same),
    }
    for code, (values, what, fix) in versions.items():
        if said := _differing(values):
            yield warning(code, PATH, f"{what} differs: {said}", fix)
    yield from _image(settings, seen)


def _image(settings: Settings, seen: Sequence[HostFacts]) -> Iterator[Finding]:
    found = {host.name: host.image_named(settings.image.tagged) for host in seen}
    # With another storage driver, or on another architecture, the same image has another id.
    alike = {(host.docker.storage, host.system.architecture) for host in seen if found[host.name]}
    ids = {name: image.id if image else None for name, image in found.items()}
    if len(alike) == 1 and (said := _differing(ids)):
        yield warning(
            "image-skew",
            "tandem:image.reference",
            f"the tag is another image on each host: {said}",
            "nothing to do: every host is given the digest that the registry names",
        )


def _driver(host: HostFacts) -> str | None:
    return host.gpus[0].driver if host.gpus else None


def _differing(values: Mapping[str, str | None]) -> str:
    """Return the values in words when they differ; what was not seen does not count."""
    known = {name: value for name, value in values.items() if value is not None}
    if len(set(known.values())) < 2:
        return ""
    return ", ".join(f"{value} on {name}" for name, value in known.items())
