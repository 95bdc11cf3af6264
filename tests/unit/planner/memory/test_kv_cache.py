"""Pages, groups, blocks and lengths, by family and by version."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.planner.memory.hosts import HostMemory
from tandem.planner.memory.kv_cache import KvCache
from tandem.planner.memory.stages import stage_layers
from tandem.planner.model.layers import LayerKind
from tandem.planner.vllm.engine import engine_options
from tandem.units import GIB
from tests.builders import settings
from tests.models import architecture


def cache(
    name: str,
    version: str = "0.19.1",
    ranks: int = 1,
    stages: int = 1,
    args: tuple[str, ...] = (),
    changes: dict[str, Any] | None = None,
    device: str | None = None,
    **serve: Any,
) -> KvCache:
    """Return the KV cache of a model."""
    model = architecture(name, changes)
    declared = {
        "image.vllm": version,
        "hosts.0.gpus": ranks * stages,
        "serve.tensorParallel": ranks,
        "serve.pipelineParallel": stages,
        "serve.args": list(args),
        **{f"serve.{key}": value for key, value in serve.items()},
    }
    memory = HostMemory(total=24 * GIB, device=device)
    options = engine_options(settings(1, declared), model, [memory])
    return KvCache(model, options, stage_layers(len(model.layers), stages))


def per_token(kv: KvCache) -> float:
    """Return bytes of a token on a rank, when every layer keeps every token."""
    return kv.layout.block_bytes(0) / kv.layout.block_size


@pytest.mark.parametrize(
    ("name", "ranks", "size"),
    [
        ("Meta-Llama-3.1-8B", 1, 131_072),
        ("Meta-Llama-3.1-8B", 2, 65_536),
        ("Meta-Llama-3.1-70B", 1, 327_680),
        ("Qwen3-32B", 2, 131_072),
        ("Qwen3-30B-A3B", 1, 98_304),
        ("Qwen3-235B-A22B-FP8", 1, 192_512),
        ("Qwen3-235B-A22B-FP8", 8, 48_128),
        ("MiniMax-M2.7", 2, 126_976),
        ("DeepSeek-V3", 1, 70_272),
        ("DeepSeek-V3", 8, 70_272),
    ],
)
def test_bytes_of_a_token(name: str, ranks: int, size: int) -> None:
    assert per_token(cache(name, ranks=ranks)) == size


@pytest.mark.parametrize(("declared", "size"), [("fp8", 61 * 576), ("fp8_ds_mla", 61 * 656)])
def test_latent_attention_in_eight_bits(declared: str, size: int) -> None:
    assert per_token(cache("DeepSeek-V3", kvCacheDtype=declared)) == size


@pytest.mark.parametrize(
    ("ranks", "kind", "caches", "block", "needed"),
    [
        (1, "auto", False, 2096, 6.19),
        (1, "auto", True, 2096, 6.33),
        (1, "fp8", False, 4176, 3.15),
        (1, "fp8", True, 4176, 3.30),
        (2, "auto", False, 2096, 3.09),
        (2, "auto", True, 2096, 3.17),
        (2, "fp8", False, 4176, 1.58),
        (2, "fp8", True, 4176, 1.65),
        (4, "auto", False, 1056, 3.05),
        (4, "auto", True, 1056, 3.08),
    ],
)
def test_one_long_request_of_a_hybrid_model(
    ranks: int, kind: str, caches: bool, block: int, needed: float
) -> None:
    switch = "--enable-prefix-caching" if caches else "--no-enable-prefix-caching"
    kv = cache("Qwen3.5-122B-A10B", ranks=ranks, args=(switch,), kvCacheDtype=kind)
    assert kv.layout.block_size == block
    assert round(kv.needed_bytes(0, 262_144) / GIB, 2) == needed


def test_groups_have_the_size_of_the_smallest_kind() -> None:
    kinds = [group.kind for group in cache("Qwen3.5-27B").layout.groups]
    assert kinds == [LayerKind.DELTA_NET] * 3 + [LayerKind.FULL]


def test_kinds_that_are_nearly_equal_are_padded() -> None:
    """Five layers of one kind and four of the other: two groups of five, not three of four."""
    types = ["full_attention"] * 4 + ["sliding_attention"] * 5
    kv = cache("gpt-oss-20b", changes={"num_hidden_layers": 9, "layer_types": types})
    assert sorted(group.layers for group in kv.layout.groups) == [(4,), (5,)]
    assert kv.layout.block_bytes(0) == 5 * kv.layout.page_bytes


def test_a_window_keeps_itself_and_the_step() -> None:
    kv = cache("gpt-oss-120b", maxNumBatchedTokens=1024)
    assert kv.blocks_per_request(131_072) == 8192 + 73
    assert kv.blocks_per_request(64) == 4 + 5


@pytest.mark.parametrize(("version", "blocks"), [("0.25.1", 73), ("0.26.0", 137)])
def test_a_window_keeps_steps_that_overlap(version: str, blocks: int) -> None:
    kv = cache("gpt-oss-120b", version, maxNumBatchedTokens=1024)
    assert kv.blocks_per_request(131_072) == 8192 + blocks


def test_a_chunk_keeps_itself_and_the_step() -> None:
    name = "Llama-4-Scout-17B-16E-Instruct"
    kv = cache(name, maxNumBatchedTokens=1024)
    assert kv.blocks_per_request(1_048_576) == 65_536 + 3 * (8192 + 1024) // 16
    older = cache(name, "0.13.0", ranks=8, maxNumBatchedTokens=1024)
    assert older.needed_bytes(0, 1_048_576) == 24 * GIB


def test_without_the_hybrid_manager_windows_are_full() -> None:
    kv = cache("gpt-oss-120b", args=("--disable-hybrid-kv-cache-manager",))
    assert [group.kind for group in kv.layout.groups] == [LayerKind.FULL]
    assert kv.blocks_per_request(131_072) == 8192


def test_draft_layers_are_on_the_last_stage() -> None:
    mtp = '--speculative-config={"method":"mtp","num_speculative_tokens":1}'
    kv = cache("DeepSeek-V3", stages=2, args=(mtp,))
    assert [group.layers for group in kv.layout.groups] == [(31, 31)]


def test_the_tightest_stage_decides() -> None:
    kv = cache("Qwen3-30B-A3B", stages=2)
    block = kv.layout.block_bytes(0)
    assert kv.num_blocks([100 * block, 40 * block]) == 40
    assert kv.num_blocks([100 * block, -block]) == 0


def test_the_logged_tokens_by_version() -> None:
    older, newer = cache("gpt-oss-120b", "0.20.0"), cache("gpt-oss-120b", "0.21.0")
    assert older.tokens(1000, 131_072) == 1000 // 2 * 16
    assert newer.tokens(1000, 131_072) == int(1000 / older.blocks_per_request(131_072) * 131_072)


def test_a_short_request_of_a_hybrid_model_bounds_the_older_logs_block() -> None:
    off = cache("Qwen3.5-27B", args=("--no-enable-prefix-caching",))
    on = cache("Qwen3.5-27B", args=("--enable-prefix-caching",))
    assert (off.tokens(40, 512), off.tokens(40, 131_072)) == (10 * 512, 10 * 784)
    assert on.tokens(40, 512) == 10 * 784


def test_context_parallel_ranks_share_a_request() -> None:
    kv = cache("DeepSeek-V3", ranks=8, args=("-dcp", "4"))
    assert kv.blocks_per_request(163_840) == 163_840 // 4 // 64
    assert kv.tokens(1000, 163_840) == 1000 * 64 * 4


def test_newer_versions_hold_one_block_back() -> None:
    older, newer = cache("Qwen3-8B", "0.28.0"), cache("Qwen3-8B", "0.29.0")
    needed = older.needed_bytes(0, 40_960)
    assert older.largest_length([needed], 40_960) == 40_960
    assert newer.largest_length([needed], 40_960) == 40_944
    assert newer.required_budget(0, 40_960) == needed + newer.layout.block_bytes(0)


def test_nothing_fits_into_nothing() -> None:
    assert cache("Qwen3-8B").largest_length([0], 40_960) == 0


MTP = '--speculative-config={"method":"mtp","num_speculative_tokens":1}'


@pytest.mark.parametrize(("version", "states"), [("0.14.1", 1), ("0.15.1", 2)])
def test_a_draft_token_has_a_state_of_its_own(version: str, states: int) -> None:
    kv = cache("Qwen3.5-27B", version, ranks=2, args=(MTP,))
    attention = -(-131_072 // kv.layout.block_size)
    kinds = [group.kind for group in kv.layout.groups]
    assert kv.blocks_per_request(131_072) == sum(
        states if kind is LayerKind.DELTA_NET else attention for kind in kinds
    )


@pytest.mark.parametrize(("version", "padded"), [("0.13.0", False), ("0.14.1", True)])
def test_what_a_request_needs_includes_padding(version: str, padded: bool) -> None:
    """Five layers of one kind and four of the other are two groups of five."""
    types = ["full_attention"] * 4 + ["sliding_attention"] * 5
    changes = {"num_hidden_layers": 9, "layer_types": types}
    kv = cache("gpt-oss-20b", version, changes=changes)
    full, sliding = 131_072 // 16, -(-(127 + 2048) // 16) + 1
    layers = (5, 5) if padded else (4, 5)
    pages = layers[0] * full + layers[1] * sliding
    assert kv.needed_bytes(0, 131_072) == pages * kv.layout.page_bytes


@pytest.mark.parametrize(("version", "block"), [("0.19.1", 784), ("0.20.2", 800)])
def test_a_hybrid_block_is_a_multiple_of_the_one_that_is_set(version: str, block: int) -> None:
    kv = cache("Qwen3.5-27B", version, args=("--block-size", "32"))
    assert kv.layout.block_size == block


@pytest.mark.parametrize(("version", "multiple"), [("0.26.0", 64), ("0.27.1", 128)])
def test_a_hybrid_block_with_latent_attention(version: str, multiple: int) -> None:
    net = {
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 32,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_conv_kernel_dim": 4,
        "layer_types": ["linear_attention"] * 30 + ["full_attention"] * 31,
    }
    kv = cache("DeepSeek-V3", version, changes=net)
    state = 3 * (2 * 16 + 32) * 128 * 2 + 32 * 128 * 128 * 2
    assert kv.layout.block_size == multiple * -(-state // (multiple * 576 * 2))


def test_a_block_on_a_cpu_has_128_tokens() -> None:
    assert cache("Qwen3-8B", device="cpu").layout.block_size == 128
