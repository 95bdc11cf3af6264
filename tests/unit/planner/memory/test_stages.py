"""How layers are dealt out to pipeline stages."""

from __future__ import annotations

import pytest

from tandem.planner.memory.stages import stage_layers


def counts(layers: int, stages: int, partition: str | None = None) -> list[int]:
    return [end - start for start, end in stage_layers(layers, stages, partition)]


@pytest.mark.parametrize(
    ("layers", "stages", "dealt"),
    [
        (48, 3, [16, 16, 16]),
        (61, 2, [31, 30]),
        (61, 4, [15, 15, 16, 15]),
        (62, 4, [15, 16, 16, 15]),
        (63, 4, [16, 16, 16, 15]),
        (2, 3, [1, 1, 0]),
    ],
)
def test_what_remains_goes_before_the_last_stage(
    layers: int, stages: int, dealt: list[int]
) -> None:
    assert counts(layers, stages) == dealt


def test_a_partition_is_followed() -> None:
    assert stage_layers(48, 2, "16,32") == ((0, 16), (16, 48))


@pytest.mark.parametrize("partition", ["", "48", "16,16", "a,b", "-1,49", "16,32,0"])
def test_a_partition_that_does_not_add_up_is_left_out(partition: str) -> None:
    assert counts(48, 2, partition) == [24, 24]
