"""The table that `status` prints."""

from collections.abc import Sequence

from lab import faults
from lab.api import Lab
from lab.errors import LabError
from lab.host import Host

_HEADER = ("HOST", "ADDRESS", "DOCKERD", "SSHD", "FAULTS", "CONTAINERS")


def table(lab: Lab) -> str:
    """Return a table of the hosts, one a line."""
    return render([_HEADER, *(_row(host) for host in lab.hosts)])


def render(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as text with aligned columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def _row(host: Host) -> tuple[str, ...]:
    staged = ", ".join(faults.faults_of(host)) or "-"
    names = "docker ps --format '{{.Names}} ({{.State}})' --all"
    docker, sshd, containers = "down", "down", "-"
    if host.init() is not None:
        try:
            result = host.ssh(names, timeout=10)
        except LabError:
            return (host.name, host.address, "unknown", "silent", staged, "-")
        # 255 is ssh's own exit code: no connection.
        sshd = "down" if result.returncode == 255 else "up"
        if result.returncode == 0:
            docker, containers = "up", ", ".join(result.stdout.splitlines()) or "-"
    return (host.name, host.address, docker, sshd, staged, containers)
