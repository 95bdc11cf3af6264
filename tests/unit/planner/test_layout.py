"""Which rank lands on which host."""

from typing import Any

import pytest

from tandem.planner.layout import layout
from tests.builders import settings

CASES: dict[str, tuple[int, dict[str, Any], list[tuple[str, int]]]] = {
    "two hosts share every layer": (2, {}, [("host-1", 0), ("host-2", 0)]),
    "two hosts split the layers": (
        2,
        {"serve.tensorParallel": 1, "serve.pipelineParallel": 2},
        [("host-1", 0), ("host-2", 1)],
    ),
    "four hosts in two stages": (
        4,
        {"serve.tensorParallel": 2, "serve.pipelineParallel": 2},
        [("host-1", 0), ("host-2", 0), ("host-3", 1), ("host-4", 1)],
    ),
    "the head comes first whatever its address": (
        2,
        {"hosts.0.address": "10.0.0.9"},
        [("host-1", 0), ("host-2", 0)],
    ),
    "the others come by address as text, not by place or number": (
        3,
        {"hosts.1.address": "10.0.0.9", "hosts.2.address": "10.0.0.10"},
        [("host-1", 0), ("host-3", 0), ("host-2", 0)],
    ),
    "hosts with fewer GPUs come before hosts with more": (
        3,
        {"hosts.1.gpus": 2, "serve.tensorParallel": 4},
        [("host-1", 0), ("host-3", 0), ("host-2", 0), ("host-2", 0)],
    ),
    "device ids count as GPUs": (
        1,
        {"hosts.0.gpus": [2, 3], "serve.tensorParallel": 2},
        [("host-1", 0), ("host-1", 0)],
    ),
    "idle GPUs get no rank": (2, {"serve.tensorParallel": 1}, [("host-1", 0)]),
}


@pytest.mark.parametrize(("hosts", "changes", "expected"), CASES.values(), ids=CASES)
def test_ranks(hosts: int, changes: dict[str, Any], expected: list[tuple[str, int]]) -> None:
    ranks = layout(settings(hosts, changes))
    assert [(rank.host, rank.stage) for rank in ranks] == expected
    assert [rank.rank for rank in ranks] == list(range(len(expected)))
