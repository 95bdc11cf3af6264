"""What is kept beside weights and KV cache, part by part."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.planner.memory.hosts import HostMemory
from tandem.planner.memory.reserve import RankShare, Reserve, ReservePart, reserve
from tandem.planner.vllm.engine import engine_options
from tandem.units import GIB
from tests.builders import settings
from tests.models import architecture

GPU = HostMemory(total=24 * GIB)


def held(
    name: str = "Meta-Llama-3.1-8B",
    version: str = "0.32.0",
    args: tuple[str, ...] = (),
    memory: HostMemory = GPU,
    is_last_stage: bool = True,
    spans_hosts: bool = False,
    **serve: Any,
) -> Reserve:
    """Return the reserve of one rank."""
    model = architecture(name)
    changes = {f"serve.{key}": value for key, value in serve.items()}
    declared = settings(1, {"image.vllm": version, "serve.args": list(args), **changes})
    return reserve(
        model,
        engine_options(declared, model, [memory]),
        memory,
        RankShare(weights_bytes=60 * GIB, layers=len(model.layers), is_last_stage=is_last_stage),
        spans_hosts=spans_hosts,
    )


def part(found: Reserve, name: str) -> ReservePart:
    """Return the part of a name."""
    return next(part for part in found.parts if part.name == name)


def names(found: Reserve) -> set[str]:
    """Return the names of all parts that are taken off the budget."""
    return {part.name for part in found.parts}


@pytest.mark.parametrize("name", ["Meta-Llama-3.1-8B", "gpt-oss-120b", "Qwen3.5-122B-A10B"])
@pytest.mark.parametrize("unified", [True, False])
def test_every_part_is_a_range_with_a_source(name: str, unified: bool) -> None:
    found = held(name, tensorParallel=2, memory=HostMemory(total=120 * GIB, unified=unified))
    for each in (*found.parts, *found.outside):
        assert 0 <= each.low <= each.high, each
        assert each.source, each
    assert found.low < found.high


@pytest.mark.parametrize(("tokens", "logged"), [(20_000, 2.07), (29_000, 2.99)])
def test_activation_of_a_dense_model_is_what_was_logged(tokens: int, logged: float) -> None:
    found = part(held(maxNumBatchedTokens=tokens, maxNumSeqs=1), "peak activation")
    assert found.low / GIB == pytest.approx(logged, rel=0.01)


def test_activation_of_experts_covers_what_was_logged() -> None:
    """121,000 more tokens took 4.96 GiB (vllm#25350; tensor parallel 2 assumed)."""
    wide, narrow = (
        part(
            held("Qwen3-30B-A3B", tensorParallel=2, maxNumBatchedTokens=tokens, maxNumSeqs=1),
            "peak activation",
        )
        for tokens in (129_192, 8_192)
    )
    assert wide.low - narrow.low <= 4.96 * GIB <= wide.high - narrow.high


def test_the_sampler_counts_on_the_last_stage_alone() -> None:
    assert "sampler warm-up" in names(held(maxNumSeqs=1024))
    assert "sampler warm-up" not in names(held(maxNumSeqs=1024, is_last_stage=False))


def test_more_requests_at_once_take_more_for_the_sampler() -> None:
    few, many = (part(held(maxNumSeqs=n), "sampler warm-up").high for n in (256, 1024))
    assert many > 3 * few


def test_graphs_are_counted_and_in_older_versions_come_on_top() -> None:
    assert "CUDA graphs" in names(held(version="0.20.0"))
    older = held(version="0.19.1")
    assert "CUDA graphs" not in names(older)
    assert "CUDA graphs" in {part.name for part in older.outside}


def test_without_graphs_there_are_none() -> None:
    found = held(args=("--enforce-eager",))
    assert "CUDA graphs" not in {part.name for part in (*found.parts, *found.outside)}


def test_one_rank_needs_no_nccl() -> None:
    assert "NCCL groups" not in names(held())
    assert part(held(tensorParallel=2), "NCCL groups").high == round((0.82 + 0.47 + 0.5) * GIB)


def test_gpus_without_switches_have_no_nvls() -> None:
    gaming = HostMemory(total=24 * GIB, device="NVIDIA GeForce RTX 3090")
    found = held(memory=gaming, tensorParallel=2)
    assert part(found, "NCCL groups").high == round((0.82 + 0.47) * GIB)


def test_nccl_between_hosts_takes_more() -> None:
    inside = part(held(tensorParallel=2), "NCCL groups").high
    between = part(held(tensorParallel=2, spans_hosts=True), "NCCL groups")
    assert between.high > inside
    assert "assumed" in between.source


@pytest.mark.parametrize(
    ("device", "low", "high"),
    [
        ("NVIDIA H100 80GB HBM3", 0.070 * 60, 0.086 * 60),
        ("NVIDIA GB10", 0, 0.086 * 60),
        (None, 0, 0.086 * 60),
    ],
)
def test_four_bit_floats_grow_where_the_gpu_has_none(
    device: str | None, low: float, high: float
) -> None:
    found = held("gpt-oss-120b", memory=HostMemory(total=80 * GIB, device=device))
    repacked = part(found, "repacked weights")
    assert (repacked.low, repacked.high) == (round(low * GIB), round(high * GIB))


def test_four_bit_floats_stay_where_the_gpu_has_them() -> None:
    found = held("gpt-oss-120b", memory=HostMemory(total=180 * GIB, device="NVIDIA B200"))
    assert "repacked weights" not in names(found)


@pytest.mark.parametrize(
    ("args", "is_kept"),
    [
        ((), False),
        (("--load-format", "safetensors"), False),
        (("--load-format", "fastsafetensors"), True),
        (("--load-format=runai_streamer",), True),
    ],
)
def test_fast_loaders_keep_buffers(args: tuple[str, ...], is_kept: bool) -> None:
    assert ("fast loader" in names(held(args=args))) is is_kept


def test_the_vision_tower_is_profiled_unless_it_is_left_out() -> None:
    serve: dict[str, Any] = {"maxNumSeqs": 1, "maxNumBatchedTokens": 64}
    assert "vision tower's profile run" in names(held("Qwen3.5-27B", **serve))
    alone = held("Qwen3.5-27B", args=("--language-model-only",), **serve)
    assert "vision tower's profile run" not in names(alone)


def test_a_cpu_keeps_nothing() -> None:
    found = held(memory=HostMemory(total=60 * GIB, device="cpu"))
    assert (found.low, found.high, found.outside) == (0, 0, ())
