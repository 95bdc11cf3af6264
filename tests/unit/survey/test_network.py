"""Paths, sockets and routes, as programs print them."""

import pytest

from tandem.survey.network import Listener, Route, read_listeners, read_paths, read_routes

TRIED = "10.0.0.2: line 1: /dev/tcp/10.0.0.2/6379"


@pytest.mark.parametrize(
    ("printed", "path"),
    [
        ("10.0.0.2 0 ", None),
        (f"10.0.0.2 1 {TRIED}: Connection refused", None),
        (f"10.0.0.2 1 {TRIED}: No route to host", "No route to host"),
        (f"10.0.0.2 1 {TRIED}: Network is unreachable", "Network is unreachable"),
        ("10.0.0.2 124 ", "no answer within 2 s"),
        ("10.0.0.2 143 ", "no answer within 2 s"),
    ],
)
def test_a_path_is_open_when_something_comes_back(printed: str, path: str | None) -> None:
    assert read_paths(printed) == {"10.0.0.2": path}


@pytest.mark.parametrize(
    "printed",
    [
        "10.0.0.2 127 timeout: failed to run command 'bash': No such file or directory",
        "10.0.0.2 126 timeout: failed to run command 'bash': Permission denied",
        f"10.0.0.2 1 {TRIED}: No such file or directory",
    ],
)
def test_what_could_not_be_tried_says_nothing(printed: str) -> None:
    assert read_paths(printed) == {}


def test_an_answer_comes_after_the_line_of_what_has_not_answered_yet() -> None:
    asked = "10.0.0.2 124 \n10.0.0.3 124 \n10.0.0.4 124 \n"
    answers = "10.0.0.3 1 Connection refused\n10.0.0.4 1 No such file or directory"
    assert read_paths(asked + answers) == {"10.0.0.2": "no answer within 2 s", "10.0.0.3": None}


def test_listeners_have_their_addresses() -> None:
    rest = "00000000:0000 0A 00000000:00000000"
    sockets = "\n".join(
        [
            f"   0: 0100007F:1F40 {rest}",
            f"   1: 0164A8C0:1F40 {rest}",
            f"   2: 00000000000000000000000000000000:0016 {rest}",
            f"   3: 0000000000000000FFFF00000100007F:18EB {rest}",
            "   4: 0A01A8C0:0050 0B01A8C0:D431 01 00000000:00000000",
        ]
    )
    ssh, ray, api = read_listeners(sockets, "", {})
    assert ssh == Listener(port=22, addresses=("::",))
    assert ray == Listener(port=6379, addresses=("127.0.0.1",)), "IPv4 in an IPv6 socket"
    assert api == Listener(port=8000, addresses=("127.0.0.1", "192.168.100.1"))


def test_a_route_to_the_host_itself_and_one_through_a_gateway() -> None:
    printed = "\n".join(
        [
            r"local 10.0.0.1 dev lo src 10.0.0.1 uid 0 \    cache <local> ",
            r"10.9.0.2 via 10.0.0.254 dev eth0 src 10.0.0.1 uid 1000 \    cache ",
            "RTNETLINK answers: Network is unreachable",
        ]
    )
    assert read_routes(printed) == {
        "10.0.0.1": Route(device="lo", source="10.0.0.1"),
        "10.9.0.2": Route(device="eth0", source="10.0.0.1"),
    }
