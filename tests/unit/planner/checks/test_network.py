"""Addresses and interfaces that are not as declared."""

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.survey.network import Interface
from tests.builders import findings, interface

LO = Interface(name="lo", addresses=("127.0.0.1",), state="UNKNOWN", mtu=65536)


@pytest.mark.parametrize(
    ("changes", "first", "line"),
    [
        (
            {},
            {"interfaces": (LO, interface("eth0", "10.0.0.7"))},
            "tandem:hosts[0].address: host-1 has no interface with 10.0.0.1; "
            "it has 127.0.0.1 (lo), 10.0.0.7 (eth0) [address-not-on-host]",
        ),
        (
            {"hosts.0.interface": "eth7"},
            {},
            "tandem:hosts[0].interface: 10.0.0.1 is on eth0, not on eth7; "
            "correct it or leave it out [interface-mismatch]",
        ),
        (
            {},
            {"interfaces": (LO, interface("eth0", "10.0.0.1", state="DOWN"))},
            "tandem:hosts[0].address: eth0 of host-1, which holds 10.0.0.1, is DOWN; "
            "connect its cable, then `ip link set eth0 up` [interface-down]",
        ),
    ],
)
def test_is_refused(changes: dict[str, Any], first: dict[str, Any], line: str) -> None:
    (finding,) = findings(1, first, changes=changes)
    assert str(finding) == line
    assert finding.severity is Severity.ERROR


def test_interfaces_of_kinds_without_a_state_are_fine() -> None:
    tunnel = interface("wg0", "10.0.0.1", state="UNKNOWN")
    assert findings(1, {"interfaces": (LO, tunnel)}) == []


def test_loopback_of_a_single_host_needs_no_interface() -> None:
    assert findings(1, {"interfaces": (LO,)}, changes={"hosts.0.address": "127.0.0.1"}) == []


def test_without_the_program_ip_several_hosts_have_to_name_their_interface() -> None:
    (finding,) = findings(2, {"interfaces": None})
    assert (finding.code, finding.path) == ("interface-unknown", "tandem:hosts[0].interface")
    assert findings(2, {"interfaces": None}, changes={"hosts.0.interface": "eth0"}) == []
    assert findings(1, {"interfaces": None}) == []


def test_mtus_that_differ_are_told_with_both_values() -> None:
    small = interface("eth0", "10.0.0.1", mtu=1500)
    (finding,) = findings(2, {"interfaces": (LO, small)})
    assert (finding.code, finding.severity) == ("mtu-mismatch", Severity.WARNING)
    assert "1500 on eth0 of host-1, 9000 on eth1 of host-2" in finding.message
