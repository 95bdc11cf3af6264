"""RDMA devices and their GIDs, from /sys/class/infiniband."""

from __future__ import annotations

from ipaddress import IPv6Address

from tandem.survey.base import FactsModel, whole


class Gid(FactsModel):
    """An entry of a port's table of global identifiers that stands for an IPv4 address."""

    index: int
    """What NCCL_IB_GID_INDEX takes."""
    address: str
    interface: str | None
    kind: str
    """``RoCE v2`` or ``IB/RoCE v1``."""


class RdmaPort(FactsModel):
    """A port of an RDMA device."""

    device: str
    """What NCCL_IB_HCA takes."""
    port: int
    state: str
    """``ACTIVE``, ``DOWN``, ``INIT`` …"""
    rate: str
    """Such as ``200 Gb/sec (4X HDR)``."""
    link_layer: str
    gids: tuple[Gid, ...] = ()

    def roce_v2_index(self, address: str) -> int | None:
        """Return the index of the RoCE v2 entry of ``address``."""
        for gid in self.gids:
            if gid.address == address and gid.kind == "RoCE v2":
                return gid.index
        return None


class RdmaFacts(FactsModel):
    """RDMA on a host."""

    has_devices: bool = False
    """Whether there is a /dev/infiniband to give to a container."""
    ports: tuple[RdmaPort, ...] = ()


def read_rdma(printed: str) -> RdmaFacts:
    """Read the probe's rows ``port`` and, for each of its IPv4 entries, ``gid``."""
    ports: list[RdmaPort] = []
    for line in printed.splitlines():
        row = line.split("\t")
        number = whole(row[2]) if row[0] == "port" and len(row) == 6 else None
        if number is not None:
            ports.append(
                RdmaPort(
                    device=row[1],
                    port=number,
                    state=row[3].rpartition(": ")[2],  # "4: ACTIVE"
                    rate=row[4],
                    link_layer=row[5],
                )
            )
        elif row[0] == "gid" and len(row) == 5 and ports:
            gid = _gid(row[1], row[2], row[3], row[4])
            if gid is not None:
                ports[-1] = ports[-1].model_copy(update={"gids": (*ports[-1].gids, gid)})
    # A port lists its entries in the order of names: 0, 1, 10, 11, 2.
    ordered = tuple(
        port.model_copy(update={"gids": tuple(sorted(port.gids, key=lambda gid: gid.index))})
        for port in ports
    )
    return RdmaFacts(has_devices=printed.startswith("devices"), ports=ordered)


def _gid(index: str, address: str, interface: str, kind: str) -> Gid | None:
    number = whole(index)
    try:
        mapped = IPv6Address(address).ipv4_mapped
    except ValueError:
        return None
    if number is None or mapped is None:
        return None
    return Gid(index=number, address=str(mapped), interface=interface or None, kind=kind)
