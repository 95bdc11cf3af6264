"""The hosts themselves: names, addresses, GPUs and ports."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tandem.findings import Finding, error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import Settings


def names(settings: Settings) -> Iterator[Finding]:
    """Each host has a name of its own."""
    for index, name in _repeated([host.name for host in settings.hosts]):
        path = f"tandem:hosts[{index}].name"
        yield error("name-twice", path, f'"{name}" is taken by another host', "give each its own")


def addresses(settings: Settings) -> Iterator[Finding]:
    """Each host has an address of its own that the others reach."""
    addresses = [str(host.address) for host in settings.hosts]
    for index, address in _repeated(addresses):
        path = f"tandem:hosts[{index}].address"
        yield error(
            "address-twice", path, f"{address} is another host's address", "give each its own"
        )
    for index, host in enumerate(settings.hosts):
        path = f"tandem:hosts[{index}].address"
        if host.address.is_unspecified or (settings.spans_hosts and host.address.is_loopback):
            yield error(
                "address-not-reachable",
                path,
                f"other hosts can't reach {host.address}",
                "write the host's address on the network between the hosts",
            )


def devices(settings: Settings) -> Iterator[Finding]:
    """No GPU is counted twice."""
    for index, host in enumerate(settings.hosts):
        for _, device in _repeated([] if isinstance(host.gpus, int) else list(host.gpus)):
            path = f"tandem:hosts[{index}].gpus"
            yield error("gpu-twice", path, f"device {device} is named twice", "name each once")


def _repeated(values: list[str]) -> Iterator[tuple[int, str]]:
    """Yield index and value of every second and later occurrence."""
    seen: Counter[str] = Counter()
    for index, value in enumerate(values):
        if seen[value]:
            yield index, value
        seen[value] += 1
