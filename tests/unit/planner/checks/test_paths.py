"""Hosts that do not reach each other."""

from tandem.findings import Severity
from tandem.survey.network import Route
from tests.builders import findings, interface

BLOCKED = {"paths": {"10.0.0.2": "no answer within 2 s"}}


def test_a_blocked_direction_is_told_by_the_pair() -> None:
    (finding,) = findings(2, BLOCKED)
    assert finding.severity is Severity.ERROR
    assert str(finding) == (
        "tandem:hosts[1].address: from host-1 no TCP connection gets to host-2 at 10.0.0.2: "
        "no answer within 2 s; let all TCP ports through between the hosts: vLLM and NCCL choose "
        "theirs freely [path-blocked]"
    )


def test_both_directions_are_told_when_both_are_blocked() -> None:
    back = {"paths": {"10.0.0.1": "No route to host"}}
    assert [f.path for f in findings(2, BLOCKED, last=back)] == [
        "tandem:hosts[1].address",
        "tandem:hosts[0].address",
    ]


def test_an_address_that_is_not_the_hosts_is_told_once_and_not_as_a_blocked_path() -> None:
    elsewhere = {"interfaces": (interface("eth1", "10.0.0.9"),)}
    (finding,) = findings(2, BLOCKED, last=elsewhere)
    assert finding.code == "address-not-on-host"


def test_a_host_that_is_off_has_no_blocked_paths() -> None:
    (finding,) = findings(2, BLOCKED, last={"problem": "no answer"})
    assert finding.code == "host-unreachable"


def test_where_nobody_could_try_nothing_is_said() -> None:
    assert findings(2, {"paths": {}}) == []


def test_a_route_through_another_interface_is_a_warning() -> None:
    routes = {"10.0.0.2": Route(device="wlan0", source="192.168.1.5")}
    (finding,) = findings(2, {"routes": routes})
    assert (finding.code, finding.severity) == ("route-elsewhere", Severity.WARNING)
    assert "host-1 reaches host-2 at 10.0.0.2 through wlan0" in finding.message


def test_a_route_through_the_declared_interface_is_fine() -> None:
    assert findings(2, {"routes": {"10.0.0.2": Route(device="eth0", source="10.0.0.1")}}) == []
