"""vLLM's defaults by version and device, and what flags make of them."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.planner.memory.hosts import HostMemory
from tandem.planner.vllm.engine import EngineOptions, engine_options
from tandem.units import GIB
from tests.builders import settings
from tests.models import architecture

MTP = '--speculative-config={"method":"mtp","num_speculative_tokens":3}'


def options(
    model: str = "Qwen3-8B",
    version: str | None = "0.19.1",
    args: tuple[str, ...] = (),
    total: int = 24 * GIB,
    device: str | None = None,
    hosts: int = 1,
    **serve: Any,
) -> EngineOptions:
    """Return the options of a host's default start, with changes."""
    changes: dict[str, Any] = {"serve.args": list(args)}
    if version:
        changes["image.vllm"] = version
    changes |= {f"serve.{key}": value for key, value in serve.items()}
    memory = HostMemory(total=total, device=device)
    return engine_options(settings(hosts, changes), architecture(model), [memory] * hosts)


@pytest.mark.parametrize(
    ("total", "device", "version", "seqs", "tokens"),
    [
        (24, None, "0.19.1", 256, 2048),
        (79, "NVIDIA H100 80GB HBM3", "0.19.1", 1024, 8192),
        (79, "NVIDIA A100-SXM4-80GB", "0.19.1", 256, 2048),
        (180, "NVIDIA B200", "0.19.1", 1024, 8192),
        (180, "NVIDIA B200", "0.27.1", 1024, 8192),
        (180, "NVIDIA B200", "0.28.0", 1024, 16384),
        (60, "cpu", "0.32.0", 128, 2048),
    ],
)
def test_batches_by_device(
    total: int, device: str | None, version: str, seqs: int, tokens: int
) -> None:
    found = options(total=total * GIB, device=device, version=version)
    assert (found.max_num_seqs, found.max_num_batched_tokens) == (seqs, tokens)


def test_a_short_request_bounds_the_default_batch() -> None:
    found = options(maxModelLen=4, maxNumSeqs=16)
    assert found.max_num_batched_tokens == 64


def test_without_chunks_a_step_holds_the_longest_request() -> None:
    assert options(args=("--no-enable-chunked-prefill",)).max_num_batched_tokens == 40960


def test_the_longest_request_is_the_model_s_own_with_its_rope_scaled() -> None:
    model = architecture("Qwen3-8B", {"rope_scaling": {"rope_type": "linear", "factor": 4.0}})
    found = engine_options(settings(1, {"image.vllm": "0.19.1"}), model, [])
    assert (model.max_positions, found.max_model_len) == (40960, 163840)


def test_what_is_declared_is_not_touched() -> None:
    found = options(maxNumSeqs=7, maxNumBatchedTokens=99, gpuMemoryUtilization=0.5)
    assert (found.max_num_seqs, found.max_num_batched_tokens, found.utilization) == (7, 99, 0.5)


@pytest.mark.parametrize(("version", "share"), [("0.11.2", 0.9), ("0.19.1", 0.9), ("0.20.0", 0.92)])
def test_utilization_by_version(version: str, share: float) -> None:
    assert options(version=version).utilization == share


def test_an_unknown_version_is_taken_for_the_newest_one_read() -> None:
    found = options(version=None)
    assert (found.version, found.is_version_known) == ((0, 32), False)


@pytest.mark.parametrize(
    ("model", "version", "args", "caches"),
    [
        ("Qwen3-8B", "0.19.1", (), True),
        ("Qwen3-8B", "0.19.1", ("--no-enable-prefix-caching",), False),
        ("Qwen3.5-27B", "0.14.1", ("--enable-prefix-caching",), False),
        ("Qwen3.5-27B", "0.15.1", ("--enable-prefix-caching",), True),
        ("Qwen3.5-27B", "0.25.1", (), False),
        ("Qwen3.5-27B", "0.26.0", (), True),
        ("Qwen3.5-27B", "0.26.0", ("--no-enable-prefix-caching",), False),
    ],
)
def test_prefix_caching(model: str, version: str, args: tuple[str, ...], caches: bool) -> None:
    assert options(model, version, args).caches_prefixes is caches


@pytest.mark.parametrize(
    ("model", "version", "declared", "size"),
    [
        ("Qwen3-8B", "0.19.1", None, 2),
        ("Qwen3-8B", "0.19.1", "fp8_e4m3", 1),
        ("Qwen3.5-122B-A10B-NVFP4", "0.19.1", None, 1),
        ("Qwen3.5-122B-A10B-NVFP4", "0.13.0", None, 2),
        ("Qwen3.5-122B-A10B-NVFP4", "0.14.1", None, 1),
        ("Qwen3.5-122B-A10B-NVFP4", "0.19.1", "bfloat16", 2),
        ("DeepSeek-V3", "0.19.1", "fp8_ds_mla", 1),
        ("Qwen3-8B", "0.19.1", "fp8_ds_mla", None),
        ("Qwen3-8B", "0.32.0", "turboquant_k8v4", None),
    ],
)
def test_type_of_the_kv_cache(
    model: str, version: str, declared: str | None, size: int | None
) -> None:
    serve: dict[str, Any] = {"kvCacheDtype": declared} if declared else {}
    assert options(model, version, **serve).kv_value_bytes == size


@pytest.mark.parametrize(
    ("model", "version", "args", "saves"),
    [
        ("gpt-oss-20b", "0.19.1", (), True),
        ("gpt-oss-20b", "0.19.1", ("--disable-hybrid-kv-cache-manager",), False),
        ("gpt-oss-20b", "0.19.1", ("--kv-transfer-config", "{}"), False),
        ("Llama-4-Scout-17B-16E-Instruct", "0.13.0", (), False),
        ("Llama-4-Scout-17B-16E-Instruct", "0.14.1", (), True),
    ],
)
def test_the_hybrid_manager(model: str, version: str, args: tuple[str, ...], saves: bool) -> None:
    assert options(model, version, args).saves_windows is saves


def test_draft_layers_of_the_checkpoint() -> None:
    found = options("Qwen3.5-27B", args=(MTP,))
    assert (found.loads_mtp, found.draft_tokens, found.draft_model) == (True, 3, None)


def test_ngrams_need_no_layers() -> None:
    ngram = '--speculative-config={"method":"ngram","num_speculative_tokens":4}'
    found = options("Qwen3.5-27B", args=(ngram,))
    assert (found.loads_mtp, found.draft_tokens, found.draft_model) == (False, 4, None)


def test_another_model_that_drafts_is_named() -> None:
    eagle = '--speculative-config={"method":"eagle3","model":"/draft"}'
    assert options(args=(eagle,)).draft_model == "eagle3"


@pytest.mark.parametrize(
    ("model", "version", "hosts", "stages", "args", "steps"),
    [
        ("Qwen3-8B", "0.25.1", 1, 1, (), 1),
        ("Qwen3-8B", "0.26.0", 1, 1, (), 2),
        ("Qwen3-8B", "0.26.0", 1, 1, ("--no-async-scheduling",), 1),
        ("Qwen3-8B", "0.26.0", 2, 1, (), 2),
        ("Qwen3-8B", "0.26.0", 2, 2, (), 3),
        ("gpt-oss-20b", "0.28.0", 2, 2, (), 2),
        ("gpt-oss-20b", "0.29.0", 2, 2, (), 3),
    ],
)
def test_steps_overlap_in_newer_versions(
    model: str, version: str, hosts: int, stages: int, args: tuple[str, ...], steps: int
) -> None:
    split: dict[str, Any] = {"pipelineParallel": stages, "tensorParallel": hosts // stages}
    found = options(model, version, args, hosts=hosts, **split)
    assert found.in_flight_tokens == steps * found.max_num_batched_tokens


def test_steps_on_cpus_and_of_ngrams_do_not_overlap() -> None:
    ngram = '--speculative-config={"method":"ngram","num_speculative_tokens":4}'
    for found in (
        options(version="0.32.0", device="cpu"),
        options(version="0.32.0", args=(ngram,)),
    ):
        assert found.in_flight_tokens == found.max_num_batched_tokens


@pytest.mark.parametrize(
    ("model", "device", "args", "block"),
    [
        ("Qwen3-8B", None, (), 16),
        ("Qwen3-8B", None, ("--block-size", "32"), 32),
        ("Qwen3-8B", "cpu", (), 128),
        ("DeepSeek-V3", None, (), 64),
        ("DeepSeek-V3", "cpu", (), 16),
    ],
)
def test_block_size(model: str, device: str | None, args: tuple[str, ...], block: int) -> None:
    assert options(model, args=args, device=device).block_size == block
