"""Room on the hosts: for the image on Docker's disk, and for /dev/shm in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings

LITTLE = GIB
"""What containers, their logs and Ray's session need at least on Docker's disk."""


def check_disks(settings: Settings, hosts: Sequence[Place]) -> Iterator[Finding]:
    """Yield hosts whose Docker has no room for the image, or whose memory none for shm."""
    size = max((host.seen.image.size for host in hosts if host.seen.image), default=0)
    for host in hosts:
        disk, memory = host.seen.docker_disk, host.seen.memory
        needed = 0 if host.seen.image else size
        if disk is not None and disk.free < needed:
            yield error(
                "disk-too-small",
                "tandem:image.reference",
                f"the image takes {_gib(needed)}, and Docker's disk on {host.name} "
                f"({disk.mounted_on}) has {_gib(disk.free)} free of {_gib(disk.size)}",
                "`docker system prune` there frees what nothing uses",
            )
        elif disk is not None and disk.free < LITTLE:
            yield warning(
                "disk-low",
                f"{host.path}.name",
                f"Docker's disk on {host.name} ({disk.mounted_on}) has {_gib(disk.free)} free of "
                f"{_gib(disk.size)}",
                "`docker system prune` there frees what nothing uses",
            )
        if memory is not None and settings.shm_size > memory.total:
            yield warning(
                "shm-exceeds-memory",
                "tandem:shmSize",
                f"{_gib(settings.shm_size)} are more than the memory of {host.name}, "
                f"{_gib(memory.total)}",
                "what is in /dev/shm is in memory: write less",
            )


def _gib(size: int) -> str:
    return f"{size / GIB:.1f} GiB"
