"""What shows that ranks of vLLM have joined: their lines in the log, and their connections."""

from __future__ import annotations

import ipaddress
import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tandem.gates.spec import RankHost, RanksSpec

_LINE = re.compile(
    r"world_size=(\d+) rank=(\d+) local_rank=\d+ distributed_init_method=(\S+) backend=(\S+)"
)
"""As ``init_distributed_environment`` logs it right before it connects
(vllm/distributed/parallel_state.py, 0.12 to 0.33)."""
_ESTABLISHED = "01"


@dataclass(frozen=True)
class RankLine:
    """One rank as its own log tells of it."""

    world_size: int
    rank: int
    init_method: str
    """``tcp://address:port``."""
    backend: str
    """``nccl`` on GPUs."""


@dataclass(frozen=True)
class Connection:
    """An established TCP connection of a host; both ends are address and port."""

    local: tuple[str, int]
    remote: tuple[str, int]


@dataclass(frozen=True)
class Evidence:
    """What one host shows."""

    words: tuple[str, ...]
    """The arguments of its container."""
    image: str
    """The id of its image; empty when there is no such container."""
    lines: tuple[RankLine, ...]
    connections: tuple[Connection, ...]


def read_evidence(printed: str) -> Evidence | None:
    """Read what ``ranks.sh`` printed; None when it did not come to its end."""
    parts = re.split(r"^@@(\w+)\n", printed, flags=re.MULTILINE)
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    if "ended" not in said:
        return None
    container = json.loads(said["container"].strip() or "{}")
    return Evidence(
        tuple(container.get("words") or ()),
        container.get("image", ""),
        tuple(read_lines(said["lines"])),
        tuple(read_connections(said["connections"])),
    )


def read_lines(log: str) -> Iterator[RankLine]:
    """Yield the ranks that a log tells of."""
    for size, rank, init_method, backend in _LINE.findall(log):
        yield RankLine(int(size), int(rank), init_method, backend)


def read_connections(table: str) -> Iterator[Connection]:
    """Yield what is established in the text of /proc/net/tcp and tcp6 (proc_net_tcp)."""
    for line in table.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[3] == _ESTABLISHED:
            yield Connection(_end(fields[1]), _end(fields[2]))


def missing(spec: RanksSpec, seen: Mapping[str, Evidence | None]) -> list[str]:
    """Return in words what is not yet as declared, by the evidence of each host's container."""
    words = [line for host in spec.hosts for line in _of_host(spec, host, seen)]
    first = seen.get(spec.hosts[0].watched.container)
    return words + (_strangers(spec, first) if first else [])


def wrong(spec: RanksSpec, seen: Mapping[str, Evidence | None]) -> list[str]:
    """Return in words what no waiting will mend: other arguments, or another image."""
    found = [(host, one) for host in spec.hosts if (one := seen.get(host.watched.container))]
    lines = [
        f"{host.watched.container} on {host.watched.host} was started with other arguments: "
        f"{_difference(host.words, one.words)}"
        for host, one in found
        if one.image and one.words != host.words
    ]
    images = {host.watched.host: one.image for host, one in found if one.image}
    if len(set(images.values())) > 1:
        told = ", ".join(f"{name} {image[:19]}" for name, image in images.items())
        lines.append(f"the containers are not of one image: {told}")
    return lines


def _of_host(spec: RanksSpec, host: RankHost, seen: Mapping[str, Evidence | None]) -> Iterator[str]:
    name, evidence = host.watched.host, seen.get(host.watched.container)
    if evidence is None or not evidence.image:
        yield f"{name} does not tell of its ranks"
        return
    size = sum(len(one.ranks) for one in spec.hosts)
    master = f"tcp://{spec.master_address}:{spec.master_port}"
    # A rank that tries again says so again.
    logged = {line.rank: line for line in evidence.lines}
    for rank in host.ranks:
        line = logged.pop(rank, None)
        if line is None:
            yield f"rank {rank} on {name} has not logged that it joins"
        elif line.world_size != size:
            yield f"rank {rank} on {name} joins {line.world_size} ranks, not {size}"
        elif line.init_method != master:
            yield f"rank {rank} on {name} joins at {line.init_method}, not at {master}"
    for rank in logged:
        yield f"rank {rank} is on {name}, where it is not declared"
    yield from _unconnected(spec, host, seen)


def _unconnected(
    spec: RanksSpec, host: RankHost, seen: Mapping[str, Evidence | None]
) -> Iterator[str]:
    """Yield connections that are not there, as this host sees them and as the first one does."""
    master, needed = (spec.master_address, spec.master_port), len(host.ranks)
    here, first = seen[host.watched.container], seen.get(spec.hosts[0].watched.container)
    own = Counter(one.local[0] for one in here.connections if one.remote == master) if here else {}
    there = _clients(spec, first) if first else Counter[str]()
    for count, who in ((own, host.watched.host), (there, spec.hosts[0].watched.host)):
        if count[host.address] < needed:
            yield (
                f"{host.address} has {count[host.address]} of {needed} connections to "
                f"{master[0]}:{master[1]}, as {who} sees it"
            )
            return


def _strangers(spec: RanksSpec, first: Evidence) -> list[str]:
    declared = {host.address for host in spec.hosts}
    return [f"{one} joined undeclared" for one in _clients(spec, first) if one not in declared]


def _clients(spec: RanksSpec, first: Evidence) -> Counter[str]:
    """Return how many connections each address has to the first host's port."""
    connections = first.connections
    return Counter(one.remote[0] for one in connections if one.local[1] == spec.master_port)


def _difference(declared: tuple[str, ...], found: tuple[str, ...]) -> str:
    """Return the first word that differs, as declared and as found."""
    for ours, theirs in zip((*declared, "nothing"), (*found, "nothing"), strict=False):
        if ours != theirs:
            return f"{theirs} instead of {ours}"
    return "more words"


def _end(text: str) -> tuple[str, int]:
    """Return address and port of ``0100007F:1F90``: each 32 bits the lowest byte first."""
    digits, _, port = text.partition(":")
    groups = [digits[start : start + 8] for start in range(0, len(digits), 8)]
    address = ipaddress.ip_address(b"".join(bytes.fromhex(group)[::-1] for group in groups))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address), int(port, 16)
