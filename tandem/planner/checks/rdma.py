"""RDMA devices and GIDs against what the containers are told to use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings


def check_rdma(settings: Settings, hosts: Iterable[Place]) -> Iterator[Finding]:
    """Yield hosts without RDMA, and NCCL variables that do not fit their devices."""
    if not settings.rdma:
        return
    for host in hosts:
        if not host.seen.rdma.has_devices:
            yield error(
                "rdma-missing",
                "tandem:rdma",
                f"{host.name} has no /dev/infiniband to give to a container",
                'write tandem:rdma: "false", or load the driver there',
            )
            continue
        yield from _devices(host)
        yield from _gid_index(host)


def _devices(host: Place) -> Iterator[Finding]:
    """NCCL takes devices by the start of their name, and none of these means plain TCP."""
    chosen = host.declared.env.get("NCCL_IB_HCA", "")
    if not chosen or chosen.startswith("^"):
        return
    path = f"{host.path}.env.NCCL_IB_HCA"
    ports = host.seen.rdma.ports
    for word in chosen.lstrip("=").split(","):
        name = word.partition(":")[0]
        matching = [port for port in ports if port.device.startswith(name)]
        if not matching:
            known = ", ".join(sorted({port.device for port in ports})) or "none"
            yield warning(
                "rdma-device-missing",
                path,
                f"{host.name} has no RDMA device {name}; NCCL would use TCP",
                f"it has {known}",
            )
        elif not any(port.state == "ACTIVE" for port in matching):
            yield warning(
                "rdma-device-down",
                path,
                f"{name} of {host.name} is {matching[0].state}; NCCL would use TCP",
                "connect its cable, or name another device",
            )


def _gid_index(host: Place) -> Iterator[Finding]:
    """The same index is another entry on another host: 3 on one, 5 on the next (field reports)."""
    declared = host.declared.env.get("NCCL_IB_GID_INDEX", "")
    right = {
        port.device: index
        for port in host.seen.rdma.ports
        if (index := port.roce_v2_index(host.address)) is not None
    }
    if declared.isdigit() and right and int(declared) not in right.values():
        known = ", ".join(f"{index} on {device}" for device, index in right.items())
        yield warning(
            "gid-index",
            f"{host.path}.env.NCCL_IB_GID_INDEX",
            f"index {declared} of {host.name} is not the RoCE v2 entry of {host.address}",
            f"that is {known}",
        )
