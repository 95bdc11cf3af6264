"""How long a request may be, by the scaling of the rotary embedding."""

from typing import Any

import pytest

from tandem.errors import UnreadableConfig
from tandem.planner.model.config_keys import ConfigKeys
from tandem.planner.model.rope import default_request, longest_request


def longest(**keys: Any) -> int | None:
    """Return the longest request of a model with 1000 positions."""
    return longest_request(ConfigKeys(keys), 1000)


@pytest.mark.parametrize(
    ("keys", "tokens"),
    [
        ({}, 1000),
        ({"rope_scaling": None}, 1000),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.5}}, 2500),
        ({"rope_scaling": {"type": "dynamic", "factor": 2}}, 2000),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 1000),
        ({"rope_scaling": {"rope_type": "longrope", "long_factor": [1.0]}}, 1000),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1}}, 1000),
        ({"rope_parameters": {"sliding": {}, "full": {"rope_type": "linear", "factor": 4}}}, 4000),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, 4000),
        (
            {
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 500,
                }
            },
            2000,
        ),
        (
            {
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 40.0,
                    "original_max_position_embeddings": 10,
                }
            },
            1000,
        ),
        ({"model_type": "gemma3_text", "rope_scaling": {"type": "linear", "factor": 8.0}}, 1000),
        ({"model_max_length": 5000}, 5000),
    ],
)
def test_longest_request(keys: dict[str, Any], tokens: int) -> None:
    assert longest(**keys) == tokens


def test_without_positions_any_length_will_do() -> None:
    assert longest_request(ConfigKeys({"rope_scaling": {"factor": 2}}), None) is None


@pytest.mark.parametrize(
    ("keys", "tokens"),
    [
        ({}, 1000),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.5}}, 2500),
        (
            {"rope_scaling": {"type": "longrope"}, "original_max_position_embeddings": 250},
            250,
        ),
        ({"rope_scaling": {"type": "longrope"}}, 1000),
        ({"original_max_position_embeddings": 250}, 1000),
    ],
)
def test_what_vllm_takes_when_no_length_is_set(keys: dict[str, Any], tokens: int) -> None:
    assert default_request(ConfigKeys(keys), 1000) == tokens
    assert default_request(ConfigKeys(keys), None) is None


@pytest.mark.parametrize("factor", ["4", True, [4], -1, 1e300])
def test_a_factor_that_is_no_number_is_told_by_its_name(factor: object) -> None:
    with pytest.raises(UnreadableConfig, match=r"rope_scaling\.factor"):
        longest(rope_scaling={"rope_type": "linear", "factor": factor})
