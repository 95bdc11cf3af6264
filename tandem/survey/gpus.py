"""GPUs, as nvidia-smi shows them."""

from __future__ import annotations

import re

from tandem.survey.base import FactsModel, whole
from tandem.units import MIB

UNIFIED_CAPABILITIES = {"8.7", "11.0", "12.1"}
"""Orin, Thor and GB10 have no memory of their own (vllm/utils/mem_utils.py, 0.19.1)."""


class GpuProcess(FactsModel):
    """A process that computes on a GPU."""

    pid: int
    name: str
    used: int | None
    """Its memory in bytes; None where the driver does not say."""
    is_own: bool = False
    """Whether it runs in a container of this deployment."""


class Gpu(FactsModel):
    """One GPU. Memory in bytes; None where the driver says ``[N/A]``, as on unified memory."""

    index: int
    uuid: str
    name: str
    driver: str
    memory_total: int | None
    memory_used: int | None
    memory_free: int | None
    memory_reserved: int | None = None
    """What driver and firmware keep of the total."""
    compute_capability: str | None = None
    """Such as ``12.1``; old drivers do not tell it."""
    processes: tuple[GpuProcess, ...] = ()

    @property
    def is_unified(self) -> bool:
        """Tell whether GPU and CPU share one memory."""
        return self.memory_total is None or self.compute_capability in UNIFIED_CAPABILITIES


def read_gpus(gpus: str, processes: str, cgroups: str, own: set[str]) -> tuple[Gpu, ...]:
    """Read nvidia-smi's CSV of GPUs and of processes, and /proc/PID/cgroup of each process.

    ``own`` are the ids of the deployment's own containers.
    """
    running = _processes(processes, cgroups, own)
    found = []
    for row in gpus.splitlines():
        cells = [cell.strip() for cell in row.split(",")]
        # Anything else is what nvidia-smi says of a field or of a GPU that it can't read.
        index = whole(cells[0])
        if len(cells) not in (7, 9) or index is None:
            continue
        _, uuid, name, driver, total, used, free, reserved, capability = [*cells, "", ""][:9]
        found.append(
            Gpu(
                index=index,
                uuid=uuid,
                name=name,
                driver=driver,
                memory_total=_mebibytes(total),
                memory_used=_mebibytes(used),
                memory_free=_mebibytes(free),
                memory_reserved=_mebibytes(reserved),
                compute_capability=capability if _is_number(capability) else None,
                processes=tuple(process for where, process in running if where == uuid),
            )
        )
    return tuple(found)


def _processes(printed: str, cgroups: str, own: set[str]) -> list[tuple[str, GpuProcess]]:
    """Return pairs of a GPU's uuid and a process on it."""
    containers = dict(line.split(" ", 1) for line in cgroups.splitlines() if " " in line)
    pairs = []
    for row in printed.splitlines():
        cells = [cell.strip() for cell in row.split(",", 3)]
        pid = whole(cells[0])
        if len(cells) != 4 or pid is None:
            continue
        _, uuid, used, name = cells
        within = containers.get(cells[0], "")
        process = GpuProcess(
            pid=pid,
            name=name,
            used=_mebibytes(used),
            is_own=any(container in within for container in own),
        )
        pairs.append((uuid, process))
    return pairs


def _mebibytes(cell: str) -> int | None:
    size = whole(cell)
    return None if size is None else size * MIB


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"\d+\.\d+", cell) is not None
