"""RDMA that is missing, or other than the variables say."""

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.survey.rdma import Gid, RdmaFacts, RdmaPort
from tests.builders import findings


def rdma(state: str = "ACTIVE", index: int = 3) -> dict[str, Any]:
    """Return facts with one device that holds the first host's address."""
    gids = (
        Gid(index=index - 1, address="10.0.0.1", interface="eth0", kind="IB/RoCE v1"),
        Gid(index=index, address="10.0.0.1", interface="eth0", kind="RoCE v2"),
    )
    port = RdmaPort(
        device="rocep1s0f0",
        port=1,
        state=state,
        rate="200 Gb/sec (4X HDR)",
        link_layer="Ethernet",
        gids=gids,
    )
    return {"rdma": RdmaFacts(has_devices=True, ports=(port,))}


def test_a_host_without_devices_is_refused_when_rdma_is_declared() -> None:
    (finding,) = findings(1, {"rdma": RdmaFacts()})
    assert (finding.code, finding.severity) == ("rdma-missing", Severity.ERROR)
    assert findings(1, {"rdma": RdmaFacts()}, changes={"rdma": "false"}) == []


@pytest.mark.parametrize("value", ["rocep1s0f0", "=rocep1s0f0:1", "rocep1", "^mlx5_0"])
def test_devices_that_are_there_are_fine(value: str) -> None:
    assert findings(1, rdma(), changes={"hosts.0.env": {"NCCL_IB_HCA": value}}) == []


@pytest.mark.parametrize(
    ("value", "state", "code", "words"),
    [
        ("mlx5_0", "ACTIVE", "rdma-device-missing", "no RDMA device mlx5_0"),
        ("rocep1s0f0", "DOWN", "rdma-device-down", "rocep1s0f0 of host-1 is DOWN"),
    ],
)
def test_devices_that_nccl_can_not_use_are_told(
    value: str, state: str, code: str, words: str
) -> None:
    (finding,) = findings(1, rdma(state), changes={"hosts.0.env": {"NCCL_IB_HCA": value}})
    assert (finding.code, finding.severity) == (code, Severity.WARNING)
    assert words in finding.message


def test_an_index_of_another_entry_is_told_with_the_right_one() -> None:
    changes = {"hosts.0.env": {"NCCL_IB_GID_INDEX": "3"}}
    assert findings(1, rdma(index=3), changes=changes) == []
    (finding,) = findings(1, rdma(index=5), changes=changes)
    assert (finding.code, finding.severity) == ("gid-index", Severity.WARNING)
    assert finding.fix == "that is 5 on rocep1s0f0"
