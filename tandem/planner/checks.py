"""What the hosts, as they are, say against the declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import HostSettings, Settings
    from tandem.survey.facts import Facts, HostFacts, ImageFacts


def check_facts(settings: Settings, facts: Facts) -> list[Finding]:
    """Return the findings of settings against what was seen; none when nobody looked."""
    if not facts.hosts:
        return []
    findings: list[Finding] = []
    for index, (host, seen) in enumerate(zip(settings.hosts, facts.hosts, strict=True)):
        findings += _host(settings, host, seen, f"tandem:hosts[{index}]")
    if not any(finding.path.startswith("tandem:hosts[0].ssh") for finding in findings):
        findings += _image(settings, facts.image)
    return findings


def check_unseen(settings: Settings, facts: Facts) -> Iterator[Finding]:
    """Yield what the stack file has to say to be deployed when nobody looked at the hosts."""
    if facts.hosts:
        return
    for index, host in enumerate(settings.hosts):
        if host.interface is None and settings.spans_hosts:
            yield error(
                "interface-unknown",
                f"tandem:hosts[{index}].interface",
                "the survey is off, so the interface can't be found from the address",
                "name the interface or switch tandem:survey on",
            )
    if settings.image.digest is None:
        yield error(
            "digest-unknown",
            "tandem:image.reference",
            "the survey is off, so the tag can't be resolved",
            "add @sha256:… or switch tandem:survey on",
        )


def _host(settings: Settings, host: HostSettings, seen: HostFacts, path: str) -> Iterator[Finding]:
    if seen.problem is not None:
        yield error(
            "host-unreachable",
            f"{path}.ssh",
            f"no connection to {host.ssh}: {seen.problem}",
            f"`ssh {host.ssh} docker version` has to work",
        )
        return
    if seen.docker_problem is not None:
        yield error(
            "docker-not-usable",
            f"{path}.ssh",
            f"{host.ssh} can log in but can't use Docker: {seen.docker_problem}",
            "start Docker there, and add the user to the group docker",
        )
        return
    yield from _interface(host, seen, path, several=settings.spans_hosts)
    if not seen.has_model:
        folder = settings.model.source.path
        yield error(
            "model-missing",
            "tandem:model.source.path",
            f"{host.name} has no {folder}/config.json",
            f"put the model's files into {folder} on every host",
        )
    yield from _ports(settings, host, seen)


def _interface(
    host: HostSettings, seen: HostFacts, path: str, *, several: bool
) -> Iterator[Finding]:
    address = str(host.address)
    found = seen.interfaces.get(address)
    if found is None and (several or not host.address.is_loopback):
        known = ", ".join(f"{ip} ({name})" for ip, name in seen.interfaces.items())
        yield error(
            "address-not-on-host",
            f"{path}.address",
            f"{host.name} has no interface with {address}",
            f"it has {known}",
        )
    elif found is not None and host.interface not in (None, found):
        yield error(
            "interface-mismatch",
            f"{path}.interface",
            f"{address} is on {found}, not on {host.interface}",
            "correct it or leave it out",
        )


def _ports(settings: Settings, host: HostSettings, seen: HostFacts) -> Iterator[Finding]:
    if host != settings.head:
        return
    ports = {"tandem:serve.port": settings.serve.port}
    if settings.spans_hosts:
        ports["tandem:ray.port"] = settings.ray.port
    for path, port in ports.items():
        if port in seen.listening:
            yield error(
                "port-taken",
                path,
                f"something listens on port {port} of {host.name} already",
                "stop it or choose another port",
            )


def _image(settings: Settings, seen: ImageFacts) -> Iterator[Finding]:
    path, reference = "tandem:image.reference", settings.image.reference
    if seen.digest is None:
        is_absent = any(word in str(seen.problem) for word in ("not found", "unknown"))
        if settings.image.digest is not None and not is_absent:
            # A private registry may refuse the question and still allow the pull.
            yield warning(
                "image-not-seen", path, f"{reference}: {seen.problem}", "the pull decides"
            )
        else:
            yield error(
                "image-missing",
                path,
                f"{reference} is not to be had: {seen.problem}",
                "correct the reference, or pull it on every host",
            )
    elif settings.image.digest is None:
        yield warning(
            "tag-not-pinned",
            path,
            f"the tag stands for {seen.digest} today",
            f"pin it: {settings.image.repository}@{seen.digest}",
        )
