"""A host's network: interfaces, routes and paths to the other hosts, and what listens."""

from __future__ import annotations

import re
from ipaddress import ip_address

from tandem.survey.base import FactsModel

_LISTEN = "0A"  # include/net/tcp_states.h
_SILENT = (124, 143)  # the exit status of timeout, and that of BusyBox's: ended by SIGTERM


class Interface(FactsModel):
    """A network interface."""

    name: str
    addresses: tuple[str, ...] = ()
    """IPv4, without the prefix's length."""
    state: str | None = None
    """The kernel's operational state: ``UP``, ``DOWN``, ``UNKNOWN`` for kinds without one."""
    mtu: int | None = None
    speed: int | None = None
    """Mbit/s, where the driver tells it."""


class Route(FactsModel):
    """The way to another host."""

    device: str
    source: str | None
    """The address that the other host sees."""


class Listener(FactsModel):
    """A TCP port of the host that something listens on."""

    port: int
    addresses: tuple[str, ...] = ("0.0.0.0",)
    """Where it listens; ``0.0.0.0`` and ``::`` are everywhere."""
    program: str | None = None
    """Its name and PID, where this user may see them, or the container that publishes the port."""

    def holds(self, address: str) -> bool:
        """Tell whether nobody else can listen on this port of an address; ``0.0.0.0`` is all."""
        return address == "0.0.0.0" or bool({"0.0.0.0", "::", address} & set(self.addresses))


def read_interfaces(links: str, addresses: str, speeds: str) -> tuple[Interface, ...]:
    """Read ``ip -o link``, ``ip -o -4 addr`` and /sys/class/net/*/speed.

    ``2: eth0@if9: <…> mtu 1500 … state UP …`` and ``2: eth0    inet 10.0.0.1/24 …``.
    """
    rows = re.finditer(r"^\d+:\s+([^\s:@]+)\S*\s+inet\s+([\d.]+)[/ ]", addresses, re.MULTILINE)
    held: dict[str, list[str]] = {}
    for row in rows:
        held.setdefault(row[1], []).append(row[2])
    speed = {row[1]: int(row[2]) for row in re.finditer(r"^(\S+) (\d+)$", speeds, re.MULTILINE)}
    interfaces = {name: Interface(name=name, addresses=tuple(held[name])) for name in held}
    for line in links.splitlines():
        link = re.match(r"\d+:\s+([^\s:@]+)\S*\s+<[^>]*>\s+mtu (\d+)(.*)", line)
        if link is None:
            continue
        state = re.search(r"\bstate (\S+)", link[3])
        interfaces[link[1]] = Interface(
            name=link[1],
            addresses=tuple(held.get(link[1], ())),
            state=state[1] if state else None,
            mtu=int(link[2]),
            speed=speed.get(link[1]),
        )
    return tuple(interfaces.values())


def read_routes(printed: str) -> dict[str, Route]:
    """Read ``ip route get``: ``10.0.0.2 dev eth0 src 10.0.0.1 uid 0``, by the other's address."""
    routes = {}
    for line in printed.splitlines():
        row = re.match(r"(?:local )?([\d.]+) .*?\bdev (\S+)(?:.*?\bsrc ([\d.]+))?", line)
        if row is not None:
            routes[row[1]] = Route(device=row[2], source=row[3])
    return routes


def read_paths(printed: str) -> dict[str, str | None]:
    """Read the attempts to connect to the other hosts: None where a path is open, else why not.

    An attempt that could not be made, for want of bash, says nothing and is left out. The last line
    of an address counts.
    """
    paths: dict[str, str | None] = {}
    for line in printed.splitlines():
        row = re.match(r"([\d.]+) (\d+) ?(.*)", line)
        if row is None:
            continue
        address, status, said = row[1], int(row[2]), row[3].rpartition(": ")[2]
        paths.pop(address, None)
        if status == 0 or said == "Connection refused":
            paths[address] = None
        elif status in _SILENT:
            paths[address] = "no answer within 2 s"
        elif status == 1 and said.startswith(("No route", "Network is", "Connection timed")):
            paths[address] = said
    return paths


def read_listeners(sockets: str, programs: str, published: dict[int, str]) -> tuple[Listener, ...]:
    """Read /proc/net/tcp and tcp6, and ``ss -ltnp`` for the programs.

    ``published`` are the containers by the port that they publish.
    """
    places: dict[int, list[str]] = {}
    for line in sockets.splitlines():
        row = re.match(r"\s*\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) \S+ (\S\S) ", line)
        if row is not None and row[3] == _LISTEN:
            places.setdefault(int(row[2], 16), []).append(_address(row[1]))
    found = re.finditer(
        r'^LISTEN\s+\d+\s+\d+\s+\S*:(\d+)\s+\S+\s+users:\(\("([^"]*)",pid=(\d+)',
        programs,
        re.MULTILINE,
    )
    names = {int(row[1]): f"{row[2]}, pid {row[3]}" for row in found}
    names |= {port: f"container {name}" for port, name in published.items()}
    return tuple(
        Listener(port=port, addresses=tuple(places[port]), program=names.get(port))
        for port in sorted(places)
    )


def _address(digits: str) -> str:
    """Read an address of /proc/net/tcp: words of four bytes, on these machines lowest first."""
    words = [bytes.fromhex(digits[start : start + 8])[::-1] for start in range(0, len(digits), 8)]
    address = ip_address(b"".join(words))
    return str(getattr(address, "ipv4_mapped", None) or address)
