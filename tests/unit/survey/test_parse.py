"""What the probe printed, recorded on a host."""

import pytest

from tandem.survey.parse import host_facts

ADDRESSES = r"""
1: lo    inet 127.0.0.1/8 scope host lo\       valid_lft forever preferred_lft forever
2: enP7s7    inet 192.168.1.10/24 brd 192.168.1.255 scope global enP7s7\       valid_lft forever
5: enp1s0f0np0@if4    inet 192.168.100.1/24 scope global enp1s0f0np0\       valid_lft forever
"""
SOCKETS = """
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1
   2: 0A01A8C0:0050 0B01A8C0:D431 01 00000000:00000000 00:00000000 00000000     0        0 3 1
  sl  local_address                         remote_address                        st tx_queue
   0: 00000000000000000000000000000000:18EB 00000000000000000000000000000000:0000 0A 00000000:0
"""


def printed(docker: str = "29.1.3", own_ports: str = "", model: str = "yes") -> str:
    """Return what ``probe.sh`` prints."""
    return (
        f"\n@@docker\n{docker}\n\n@@addresses{ADDRESSES}\n@@sockets{SOCKETS}"
        f"\n@@own-ports\n{own_ports}\n\n@@model\n{model}\n"
    )


def test_interfaces_are_found_by_address() -> None:
    assert host_facts("spark-1", printed()).interfaces == {
        "127.0.0.1": "lo",
        "192.168.1.10": "enP7s7",
        "192.168.100.1": "enp1s0f0np0",
    }


def test_ports_that_something_listens_on_are_found_and_connections_left_out() -> None:
    assert host_facts("spark-1", printed()).listening == {22, 8000, 6379}


def test_ports_of_the_deployment_itself_are_left_out() -> None:
    assert host_facts("spark-1", printed(own_ports="8000\n\n6379")).listening == {22}


@pytest.mark.parametrize("version", ["29.1.3", "28.0.0-rc.1", "24.0.5+azure"])
def test_a_version_means_that_docker_can_be_used(version: str) -> None:
    assert host_facts("spark-1", printed(docker=version)).docker_problem is None


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("sh: 1: docker: not found", "sh: 1: docker: not found"),
        (
            "\npermission denied while trying to connect",
            "permission denied while trying to connect",
        ),
    ],
)
def test_what_docker_says_instead_is_kept(said: str, problem: str) -> None:
    assert host_facts("spark-1", printed(docker=said)).docker_problem == problem


@pytest.mark.parametrize(("said", "has_model"), [("yes", True), ("", False)])
def test_the_model_is_there_or_not(said: str, has_model: bool) -> None:
    assert host_facts("spark-1", printed(model=said)).has_model is has_model


def test_a_host_that_ran_no_script_is_a_problem() -> None:
    assert host_facts("a", "").problem


REST = "\n\n@@addresses\n\n@@sockets\n\n@@own-ports\n\n@@model\n\n"


def test_a_warning_before_dockers_version_is_no_problem() -> None:
    assert host_facts("a", f"\n@@docker\nWARNING: x\n29.1.3{REST}").docker_problem is None


def test_docker_that_says_nothing_is_a_problem() -> None:
    assert host_facts("a", f"\n@@docker\n{REST}").docker_problem == "no answer"
