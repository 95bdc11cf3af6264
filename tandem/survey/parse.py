"""From what the probe printed to HostFacts."""

from __future__ import annotations

import re

from tandem.survey.facts import HostFacts

_SECTIONS = {"docker", "addresses", "sockets", "own-ports", "model"}
_LISTEN = "0A"  # include/net/tcp_states.h


def host_facts(name: str, printed: str) -> HostFacts:
    """Read the sections that ``probe.sh`` printed."""
    sections = {
        section.partition("\n")[0]: section.partition("\n")[2].strip()
        for section in printed.split("\n@@")[1:]
    }
    if not sections.keys() >= _SECTIONS:
        return HostFacts(name=name, problem="the host did not run the survey's shell script")
    # A warning may stand before the version.
    docker = sections["docker"].rpartition("\n")[2]
    own = {int(port) for port in re.findall(r"\d+", sections["own-ports"])}
    return HostFacts(
        name=name,
        docker_problem=None if re.fullmatch(r"\d+\.\S+", docker) else docker or "no answer",
        interfaces=_interfaces(sections["addresses"]),
        listening=_listening(sections["sockets"]) - own,
        has_model=sections["model"] == "yes",
    )


def _interfaces(printed: str) -> dict[str, str]:
    """Read ``ip -o -4 addr show``: ``2: eth0    inet 10.0.0.1/24 …``."""
    matches = re.finditer(r"^\d+:\s+(\S+?)(?:@\S+)?\s+inet\s+([\d.]+)/", printed, re.MULTILINE)
    return {match[2]: match[1] for match in matches}


def _listening(printed: str) -> frozenset[int]:
    """Read /proc/net/tcp and tcp6: ``sl local_address rem_address st …``, port in hexadecimal."""
    rows = (line.split() for line in printed.splitlines())
    return frozenset(
        int(row[1].rpartition(":")[2], 16) for row in rows if len(row) > 3 and row[3] == _LISTEN
    )
