"""What the lab checks on the machine, and finds there of earlier labs."""

import os
import shutil
from pathlib import Path

from lab import network, processes
from lab.errors import LabError
from lab.layout import MAX_HOSTS, MAX_SITES, Site
from lab.shell import attempt

# Sparse: it takes what is written to it.
_DEFAULT_DISK_GIB = 64


def check_root() -> None:
    """Raise LabError when the lab cannot make namespaces here."""
    if os.geteuid() != 0:
        raise LabError("the lab makes network namespaces and mounts: run it as root")
    result = attempt(["unshare", "--mount", "--net", "--pid", "--fork", "true"])
    if result.returncode:
        raise LabError(f"no permission for namespaces here: {result.stderr.strip()}")


def needed_disk_gib(site: Site) -> int | None:
    """Return the size in GiB of the disk files that hosts need here; None when they need none.

    Docker's overlays cannot lie on another overlay, which the root of a container usually is.
    """
    folder = site.state.parent
    kind = attempt(["stat", "--file-system", "--format=%T", folder]).stdout.strip()
    return _DEFAULT_DISK_GIB if kind == "overlayfs" else None


def hosts_of(site: Site) -> list[int]:
    """Return the numbers of hosts of which there is a process, namespace, cable or folder."""
    found = processes.all_processes()
    markers = {process.command[-1] for process in found if process.is_init and process.command}
    return [
        index
        for index in range(1, MAX_HOSTS + 1)
        if site.namespace(index) in markers
        or (network.NAMESPACES / site.namespace(index)).exists()
        or Path("/sys/class/net", site.link(index)).exists()
        or site.host_folder(index).exists()
    ]


def other_labs(site: Site) -> bool:
    """Tell whether there is anything of a lab with another number: the cache is common to all."""
    return any(other != site and other.state.exists() for other in map(Site, range(MAX_SITES)))


def remove_state(site: Site) -> None:
    """Remove the folder of a lab.

    Raises LabError when something is mounted in it, which the lab itself never does.
    """
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    inside = [mount for mount in mounts if Path(mount).is_relative_to(site.state)]
    if inside:
        raise LabError(f"something is mounted at {inside[0]}: unmount it first")
    if site.state.exists():
        shutil.rmtree(site.state)
