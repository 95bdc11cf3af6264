"""The declared addresses and interfaces against those of the hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings

_DOWN = ("DOWN", "LOWERLAYERDOWN", "NOTPRESENT", "DORMANT")
"""States in which an interface carries nothing (RFC 2863); UNKNOWN is that of e.g. tunnels."""


def check_interfaces(settings: Settings, hosts: Sequence[Place]) -> Iterator[Finding]:
    """Yield addresses that are nowhere (vllm#14186), wrong and dead interfaces, unequal MTUs."""
    for host in hosts:
        if host.seen.interfaces is None:
            yield from _unknown(host, several=settings.spans_hosts)
        elif host.interface is None:
            yield from _absent(host, several=settings.spans_hosts)
        else:
            yield from _interface(host, host.interface.name, host.interface.state)
    yield from _mtu(hosts)


def _unknown(host: Place, *, several: bool) -> Iterator[Finding]:
    if several and host.declared.interface is None:
        yield error(
            "interface-unknown",
            f"{host.path}.interface",
            f"{host.name} has no program `ip`, so the interface can't be found from the address",
            "name the interface, or install iproute2 there",
        )


def _absent(host: Place, *, several: bool) -> Iterator[Finding]:
    if host.declared.address.is_loopback and not several:
        return
    known = ", ".join(
        f"{address} ({interface.name})"
        for interface in host.seen.interfaces or ()
        for address in interface.addresses
    )
    yield error(
        "address-not-on-host",
        f"{host.path}.address",
        f"{host.name} has no interface with {host.address}",
        f"it has {known}",
    )


def _interface(host: Place, name: str, state: str | None) -> Iterator[Finding]:
    if host.declared.interface not in (None, name):
        yield error(
            "interface-mismatch",
            f"{host.path}.interface",
            f"{host.address} is on {name}, not on {host.declared.interface}",
            "correct it or leave it out",
        )
    if state in _DOWN:
        yield error(
            "interface-down",
            f"{host.path}.address",
            f"{name} of {host.name}, which holds {host.address}, is {state}",
            f"connect its cable, then `ip link set {name} up`",
        )


def _mtu(hosts: Sequence[Place]) -> Iterator[Finding]:
    found = {
        host.name: host.interface
        for host in hosts
        if host.interface is not None and host.interface.mtu is not None
    }
    if len({interface.mtu for interface in found.values()}) > 1:
        values = ", ".join(f"{i.mtu} on {i.name} of {name}" for name, i in found.items())
        yield warning(
            "mtu-mismatch",
            "tandem:hosts",
            f"the interfaces between the hosts have MTUs of different size: {values}",
            "set the same on all: a packet that is too large for the other end is lost",
        )
