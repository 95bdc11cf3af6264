"""The flags that only the API reads."""

import pytest

from tandem.planner.vllm.front_end import FRONT_END, without_front_end
from tandem.planner.vllm.releases import known_names


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("/model --host 10.0.0.1 --port 8000 --seed 1", "/model --seed 1"),
        ("--port=8000 --seed=1", "--seed=1"),
        ("--allowed-origins a b --seed 1", "--seed 1"),
        ("--enable_auto_tool_choice --seed 1", "--seed 1"),
        ("-asc 2 --no-enable-log-deltas --enforce-eager", "--enforce-eager"),
        ("--portable 1 -tp 2", "--portable 1 -tp 2"),
        ("--seed -1 --api-server-count -1", "--seed -1"),
    ],
)
def test_they_are_left_out_with_their_values(words: str, kept: str) -> None:
    assert without_front_end(words.split()) == tuple(kept.split())


def test_each_is_a_flag_of_some_release() -> None:
    known = frozenset().union(*(names.flags for names in known_names().values()))
    assert FRONT_END - known == set()
