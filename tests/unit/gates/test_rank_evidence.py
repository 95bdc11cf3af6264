"""What shows that ranks have joined, from what a host printed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.gates.rank_evidence import (
    Connection,
    Evidence,
    RankLine,
    missing,
    read_connections,
    read_evidence,
    read_lines,
    wrong,
)
from tests.builders import ranks_spec

MASTER = ("10.0.0.1", 29501)
LOG = """\
INFO 11-30 12:00:00 [api_server.py:1] vLLM API server version 0.32.0
(Worker pid=71) INFO 11-30 12:00:38 [parallel_state.py:1906] world_size=2 rank=1 local_rank=0 \
distributed_init_method=tcp://10.0.0.1:29501 backend=nccl
(Worker pid=71) INFO 11-30 12:00:39 [parallel_state.py:2001] rank 1 in world size 2 is assigned \
as DP rank 0, PP rank 0, TP rank 1
"""
TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:733D 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0200000A:9D57 0100000A:733D 01 00000000:00000000 00:00000000 00000000     0        0 2 1
   2: 0200000A:9D58 0100000A:733D 06 00000000:00000000 00:00000000 00000000     0        0 3 1
"""
TABLE_6 = """\
  sl  local_address                         remote_address                        st tx_queue
   0: 0000000000000000FFFF00000100000A:733D 0000000000000000FFFF00000200000A:9D57 01 0 0 0
   1: B80D0120000000000000000001000000:0016 B80D0120000000000000000002000000:C350 01 0 0 0
"""


def shown(host: int, *ranks: int, peers: tuple[str, ...] = ()) -> Evidence:
    """Return what a host of two shows when these ranks of it have joined."""
    lines = tuple(RankLine(2, rank, "tcp://10.0.0.1:29501", "nccl") for rank in ranks)
    out = tuple(Connection((f"10.0.0.{host}", 40000 + rank), MASTER) for rank in ranks)
    into = tuple(Connection(MASTER, (peer, 40000)) for peer in peers)
    return Evidence(("serve", str(host)), "sha256:1", lines, (*out, *into))


def seen(**changes: Evidence | None) -> dict[str, Evidence | None]:
    """Return what two hosts show where all is well, with changes to ``first`` and ``other``."""
    both = {
        "first": shown(1, 0, peers=("10.0.0.1", "10.0.0.2")),
        "other": shown(2, 1),
    } | changes
    names = [host.watched.container for host in ranks_spec().hosts]
    return dict(zip(names, both.values(), strict=True))


def test_a_rank_is_read_from_its_own_line() -> None:
    assert list(read_lines(LOG)) == [RankLine(2, 1, "tcp://10.0.0.1:29501", "nccl")]


def test_only_established_connections_count_also_in_the_table_of_the_longer_addresses() -> None:
    assert list(read_connections(TABLE)) == [Connection(("10.0.0.2", 40279), MASTER)]
    assert list(read_connections(TABLE_6)) == [
        Connection(MASTER, ("10.0.0.2", 40279)),
        Connection(("2001:db8::1", 22), ("2001:db8::2", 50000)),
    ]


def test_what_the_script_prints_is_read_and_what_it_could_not_finish_is_nothing() -> None:
    container = '{"words": ["serve", "2"], "image": "sha256:1"}\n'
    text = f"\n@@container\n{container}\n@@lines\n{LOG}\n@@connections\n{TABLE}{TABLE_6}"
    assert read_evidence(text) is None
    found = read_evidence(f"{text}\n@@ended\n")
    assert found is not None
    assert (found.words, found.image, len(found.lines)) == (("serve", "2"), "sha256:1", 1)
    assert len(found.connections) == 3
    gone = read_evidence("\n@@container\n\n@@lines\n\n@@connections\n\n@@ended\n")
    assert gone == Evidence((), "", (), ())


def test_when_every_rank_is_there_nothing_is_missing() -> None:
    assert missing(ranks_spec(), seen()) == []
    assert wrong(ranks_spec(), seen()) == []


OTHER = shown(2, 1)
FIRST = shown(1, 0, peers=("10.0.0.1", "10.0.0.2"))
LINE = OTHER.lines[0]
ONE_MORE = Connection(MASTER, ("10.0.0.9", 40000))
CASES: dict[str, tuple[dict[str, Evidence | None], str]] = {
    "silent": ({"other": None}, "host-2 does not tell of its ranks"),
    "no container": ({"other": Evidence((), "", (), ())}, "host-2 does not tell of its ranks"),
    "no line": ({"other": replace(OTHER, lines=())}, "rank 1 on host-2 has not logged that"),
    "another group": (
        {"other": replace(OTHER, lines=(replace(LINE, init_method="tcp://10.0.0.7:29501"),))},
        "rank 1 on host-2 joins at tcp://10.0.0.7:29501, not at tcp://10.0.0.1:29501",
    ),
    "another size": (
        {"other": replace(OTHER, lines=(replace(LINE, world_size=4),))},
        "rank 1 on host-2 joins 4 ranks, not 2",
    ),
    "one too many": (
        {"other": replace(OTHER, lines=(LINE, replace(LINE, rank=7)))},
        "rank 7 is on host-2, where it is not declared",
    ),
    "not connected": (
        {"other": replace(OTHER, connections=())},
        "10.0.0.2 has 0 of 1 connections to 10.0.0.1:29501, as host-2 sees it",
    ),
    "half a connection": (
        {"first": shown(1, 0, peers=("10.0.0.1",))},
        "10.0.0.2 has 0 of 1 connections to 10.0.0.1:29501, as host-1 sees it",
    ),
    "from another address": (
        {"other": replace(OTHER, connections=(Connection(("10.9.9.9", 1), MASTER),))},
        "10.0.0.2 has 0 of 1 connections to 10.0.0.1:29501, as host-2 sees it",
    ),
    "a stranger": (
        {"first": replace(FIRST, connections=(*FIRST.connections, ONE_MORE))},
        "10.0.0.9 joined undeclared",
    ),
}


@pytest.mark.parametrize(("changes", "expected"), CASES.values(), ids=CASES)
def test_what_is_missing_is_told(changes: dict[str, Evidence | None], expected: str) -> None:
    (line,) = missing(ranks_spec(), seen(**changes))
    assert line.startswith(expected)


def test_a_rank_that_tried_twice_counts_once_with_what_it_said_last() -> None:
    lines = (replace(LINE, world_size=4), LINE)
    assert missing(ranks_spec(), seen(other=replace(OTHER, lines=lines))) == []


def test_other_arguments_and_another_image_are_wrong() -> None:
    other = replace(OTHER, words=("serve", "3"), image="sha256:2")
    assert wrong(ranks_spec(), seen(other=other)) == [
        "tandem-test-host-2-rank on host-2 was started with other arguments: 3 instead of 2",
        "the containers are not of one image: host-1 sha256:1, host-2 sha256:2",
    ]
    fewer = replace(OTHER, words=("serve",))
    (line,) = wrong(ranks_spec(), seen(other=fewer))
    assert line.endswith("nothing instead of 2")
