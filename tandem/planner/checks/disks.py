"""Room on the hosts: for the image on Docker's disk, and for /dev/shm in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.units import GIB, gib

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings
    from tandem.survey.facts import ImageFacts
    from tandem.survey.machine import DiskFacts

LITTLE = GIB
"""What containers, their logs and Ray's session need at least on Docker's disk."""
UNPACKED = 3
"""A pull needs room for layers and what is in them; images of vLLM unpack to twice their size."""

_PRUNE = "`docker system prune` there frees what nothing uses"


def check_disks(hosts: Sequence[Place], image: ImageFacts) -> Iterator[Finding]:
    """Yield hosts whose Docker has no room for the image, or hardly any at all."""
    unpacked = max((host.seen.image.size for host in hosts if host.seen.image), default=0)
    layers = image.layers_bytes or 0
    for host in hosts:
        disk = host.seen.docker_disk
        if disk is None:
            continue
        needed = 0 if host.seen.image else max(unpacked, layers)
        likely = 0 if host.seen.image or unpacked else UNPACKED * layers
        if disk.free < needed:
            what = "takes" if unpacked >= layers else "takes, packed,"
            yield error(
                "disk-too-small",
                "tandem:image.reference",
                f"the image {what} {gib(needed)}, and {_free(host, disk)}",
                _PRUNE,
            )
        elif disk.free < likely:
            yield warning(
                "disk-too-small",
                "tandem:image.reference",
                f"the image takes {gib(layers)} packed and {gib(likely)} or so while it is "
                f"pulled, and {_free(host, disk)}",
                _PRUNE,
            )
        elif disk.free < LITTLE:
            yield warning("disk-low", f"{host.path}.name", _free(host, disk), _PRUNE)


def check_shm(settings: Settings, hosts: Sequence[Place]) -> Iterator[Finding]:
    """Yield hosts with less memory than /dev/shm may take."""
    for host in hosts:
        memory = host.seen.memory
        if memory is not None and settings.shm_size > memory.total:
            yield warning(
                "shm-exceeds-memory",
                "tandem:shmSize",
                f"{gib(settings.shm_size)} are more than the memory of {host.name}, "
                f"{gib(memory.total)}",
                "what is in /dev/shm is in memory: write less",
            )


def _free(host: Place, disk: DiskFacts) -> str:
    return (
        f"Docker's disk on {host.name} ({disk.mounted_on}) has {gib(disk.free)} free of "
        f"{gib(disk.size)}"
    )
