"""Faults of a host's link that let something through: it is slow, or loses packets."""

from lab import network
from lab.host import Host
from lab.shell import attempt, run

_QUEUE = ("burst", "16kb", "latency", "100ms")


def slow(host: Host, mbit: float) -> None:
    """Let so many Mbit/s pass in each direction; ssh and images pass there, too."""
    heal(host)
    for end in _ends(host):
        run([*end, "root", "tbf", "rate", f"{mbit:g}mbit", *_QUEUE])


def heal(host: Host) -> None:
    """Let the link be as fast as it can."""
    for end in _ends(host, "del"):
        attempt([*end, "root"])


def is_slow(host: Host) -> bool:
    """Tell whether a limit is set."""
    return any("tbf" in attempt(end).stdout for end in _ends(host, "show"))


def _ends(host: Host, action: str = "add") -> list[list[str]]:
    """Return the commands for both ends of the cable: what comes in, what goes out."""
    inside = ["nsenter", f"--net={network.NAMESPACES / host.marker}"]
    rest = ["qdisc", action, "dev"]
    return [["tc", *rest, host.site.link(host.index)], [*inside, "tc", *rest, "eth0"]]
