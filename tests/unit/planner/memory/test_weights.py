"""Sizes of checkpoints and ranks, against published totals and logs."""

from __future__ import annotations

import pytest

from tandem.planner.memory.stages import stage_layers
from tandem.planner.memory.weights import (
    Placement,
    computed_weights,
    declared_weights,
    rank_weights,
)
from tandem.planner.model.layers import LayerKind
from tandem.units import GIB
from tests.models import AWQ, FP8, architecture

PUBLISHED = {
    "Qwen3.5-122B-A10B": 250_173_007_840,
    "Qwen3-32B": 65_524_246_528,
    "Qwen3-32B-FP8": 34_322_434_048,
    "Qwen3-30B-A3B": 61_064_245_248,
    "Meta-Llama-3.1-70B": 141_107_412_992,
    "gpt-oss-120b": 65_248_815_744,
    "MiniMax-M2.7": 230_121_630_720,
}
"""Tensor bytes as the publishers' indices state them."""

WORKED = {
    "Qwen3-30B-A3B-FP8": 31_170_895_872,
    "Qwen3-235B-A22B-FP8": 236_416_915_456,
    "Qwen3-8B": 16_381_470_720,
    "Meta-Llama-3.1-8B": 16_060_522_496,
    "Meta-Llama-3.1-405B": 811_706_777_600,
    "DeepSeek-V3": 688_574_839_360,
    "gpt-oss-20b": 13_761_264_768,
}
"""Tensor bytes worked out from shapes by others, with no index to compare."""


def total(name: str) -> int:
    weights = computed_weights(architecture(name))
    assert weights is not None
    return weights.total_bytes


def per_stage(
    name: str,
    ranks: int,
    stages: int = 1,
    changes: dict[str, object] | None = None,
    **options: bool,
) -> list[float]:
    """Return GiB on a rank of each stage."""
    model = architecture(name, changes)
    weights = computed_weights(model)
    assert weights is not None
    placement = Placement(
        tensor_parallel=ranks, stages=stage_layers(len(model.layers), stages), **options
    )
    return [size / GIB for size in rank_weights(model, weights, placement)]


@pytest.mark.parametrize(("name", "size"), {**PUBLISHED, **WORKED}.items())
def test_the_whole_checkpoint_to_the_byte(name: str, size: int) -> None:
    assert total(name) == size


@pytest.mark.parametrize(
    ("name", "gigabytes"), [("Qwen3.5-35B-A3B", 71.90), ("Qwen3.5-27B", 55.56)]
)
def test_checkpoints_whose_size_is_known_in_gigabytes(name: str, gigabytes: float) -> None:
    assert total(name) / 1e9 == pytest.approx(gigabytes, abs=0.005)


@pytest.mark.parametrize(
    ("name", "ranks", "logged"),
    [
        ("Meta-Llama-3.1-8B", 1, 14.9888),  # vllm#10517
        ("Qwen3-30B-A3B", 4, 14.2474),  # vllm#17327
        ("Qwen3-30B-A3B-FP8", 1, 29.09),
    ],
)
def test_a_rank_has_what_was_logged_within_a_quarter_percent(
    name: str, ranks: int, logged: float
) -> None:
    assert per_stage(name, ranks)[0] == pytest.approx(logged, rel=0.0025)


def test_what_every_rank_has_whole_is_not_divided() -> None:
    whole, half = per_stage("Qwen3-30B-A3B", 1)[0], per_stage("Qwen3-30B-A3B", 2)[0]
    assert whole / 2 < half < whole / 2 * 1.002


def test_more_ranks_than_kv_heads_keep_one_head_each() -> None:
    """Qwen3.5-122B has two KV heads, so eight ranks hold each of them four times."""
    model = architecture("Qwen3.5-122B-A10B")
    full = sum(layer.kind is LayerKind.FULL for layer in model.layers)
    heads = full * 2 * model.kv_heads * model.head_dim * model.hidden * 2 / GIB
    one, two, eight = (per_stage("Qwen3.5-122B-A10B", ranks)[0] for ranks in (1, 2, 8))
    whole = 2 * two - one  # norms, routers and the like, which every rank has
    assert eight == pytest.approx((two - heads / 2 - whole) / 4 + heads / 2 + whole, abs=0.001)


def test_embedding_and_output_layer_are_on_the_outer_stages() -> None:
    outer = 128256 * 8192 * 2 / GIB
    first, middle, last = per_stage("Meta-Llama-3.1-70B", 1, 3)  # 27, 27 and 26 layers
    assert first - middle == pytest.approx(outer, rel=0.001)
    assert last - middle == pytest.approx(outer - middle / 27, rel=0.001)


def test_two_stages_of_the_seeds_model_have_its_bytes_in_halves() -> None:
    assert per_stage("Qwen3.5-122B-A10B", 1, 2, FP8) == pytest.approx([58.4, 58.4], abs=0.1)
    assert per_stage("Qwen3.5-122B-A10B", 2, 1, FP8) == pytest.approx([58.0], abs=0.1)


def test_draft_layers_are_loaded_on_demand_alone() -> None:
    without = per_stage("Qwen3.5-122B-A10B", 2)[0]
    loaded = per_stage("Qwen3.5-122B-A10B", 2, loads_mtp=True)[0]
    assert without == pytest.approx(114.1, abs=0.1)
    assert loaded == pytest.approx(116.5, abs=0.1)


def test_the_vision_tower_is_split_whole_or_absent() -> None:
    split = per_stage("Qwen3.5-122B-A10B", 2)[0]
    whole = per_stage("Qwen3.5-122B-A10B", 2, splits_vision=False)[0]
    absent = per_stage("Qwen3.5-122B-A10B", 2, loads_vision=False)[0]
    tower = 451_290_864 * 2 / GIB
    assert whole - absent == pytest.approx(tower, rel=0.001)
    assert whole - split == pytest.approx(tower / 2, rel=0.02)


def test_a_counted_size_is_shared_out_as_the_shapes_are() -> None:
    model = architecture("Qwen3-32B")
    placement = Placement(tensor_parallel=2, stages=stage_layers(64, 1))
    counted = declared_weights(70_000_000_000, "declared")
    assert rank_weights(model, counted, placement) == [pytest.approx(35e9, rel=0.001)]


def test_four_bits_with_scales_and_zeros() -> None:
    """MiniMax-M2.7 in AWQ: half a byte, 2 bytes of scale and half a zero point for 128 values."""
    weights = computed_weights(architecture("MiniMax-M2.7", AWQ))
    assert weights is not None
    assert weights.total_bytes == pytest.approx(228.7e9 * (0.5 + 2.5 / 128) + 2.46e9, rel=0.01)


def test_a_mixture_of_formats_is_not_computed() -> None:
    assert computed_weights(architecture("Qwen3.6-35B-A3B-NVFP4")) is None
    assert computed_weights(architecture("Qwen3-8B", {"quantization_config": {}})) is None
