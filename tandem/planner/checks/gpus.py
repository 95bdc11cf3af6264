"""The declared GPUs against those of the hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.units import MIB, gib

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.checks.places import Place

SMALL = 256 * MIB
"""A foreign process with less GPU memory than this is not worth a warning: a desktop has some."""


def check_gpus(hosts: Iterable[Place]) -> Iterator[Finding]:
    """Yield GPUs that Docker can't hand out (nvidia-docker#1591), missing and busy ones."""
    for host in hosts:
        path = f"{host.path}.gpus"
        if host.seen.docker.gpu_ways == ():
            yield error(
                "gpus-not-offered",
                path,
                f"Docker on {host.name} can't hand out GPUs: it has no NVIDIA runtime or hook, and "
                "no CDI devices",
                "install nvidia-container-toolkit there, run `nvidia-ctk runtime configure`, and "
                "restart Docker",
            )
        if host.seen.gpu_problem is not None:
            yield error(
                "gpu-driver",
                path,
                f"nvidia-smi on {host.name} says: {host.seen.gpu_problem}",
                "`nvidia-smi` has to list the GPUs there; a new driver needs a reboot",
            )
        if host.seen.gpus:
            yield from _missing(host, path)
            yield from _busy(host, path)


def _missing(host: Place, path: str) -> Iterator[Finding]:
    found = host.seen.gpus
    known = ", ".join(f"{gpu.index} ({gpu.name})" for gpu in found)
    declared = host.declared.gpus
    if isinstance(declared, int):
        missing = f"{declared} GPUs" if declared > len(found) else ""
    else:
        ids = {str(gpu.index) for gpu in found} | {gpu.uuid for gpu in found}
        # Other ids, such as those of MIG slices, are Docker's to know.
        wanted = [word for word in declared if word.isdigit() or word.startswith("GPU-")]
        missing = ", ".join(word for word in wanted if word not in ids)
    if missing:
        yield error(
            "gpus-missing",
            path,
            f"{missing} declared, but {host.name} has {len(found)}: {known}",
            "declare what is there",
        )


def _busy(host: Place, path: str) -> Iterator[Finding]:
    for gpu in host.seen.used_gpus(host.declared.gpus):
        for process in gpu.processes:
            if process.is_own or (process.used is not None and process.used < SMALL):
                continue
            size = "memory" if process.used is None else gib(process.used)
            yield warning(
                "gpu-busy",
                path,
                f"{process.name}, pid {process.pid}, holds {size} of GPU {gpu.index} of "
                f"{host.name}",
                "stop it, or leave it room with serve.gpuMemoryUtilization",
            )
