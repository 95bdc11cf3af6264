"""Asks vLLM's own functions how they would lay out a KV cache, without a start. Runs in the image.

vllm/v1/core/kv_cache_utils.py (0.32.0), which every engine asks with what its workers say of
their layers. Here the layers are written down from the planner's view of the model.
"""

import logging
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch  # type: ignore[import-not-found, unused-ignore]
from vllm.v1.core import kv_cache_utils  # type: ignore[import-not-found, unused-ignore]
from vllm.v1.kv_cache_interface import (  # type: ignore[import-not-found, unused-ignore]
    ChunkedLocalAttentionSpec,
    FullAttentionSpec,
    MambaSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from vllm.v1.kv_cache_layout import (  # type: ignore[import-not-found, unused-ignore]
    KVCacheLayout,
)

from tandem.planner.memory.kv_cache import KvLayout
from tandem.planner.model.architecture import Architecture, LayerKind
from tandem.planner.vllm.engine import EngineOptions

kv_cache_utils.logger.setLevel(logging.ERROR)

_NEEDED = re.compile(r"([\d.]+) GiB KV")
_LONGEST = re.compile(r"estimated maximum model length is (\d+)")
_TYPES = {1: torch.uint8, 2: torch.bfloat16, 4: torch.float32}


def vllm_answer(
    model: Architecture,
    options: EngineOptions,
    layout: KvLayout,
    stages: Sequence[tuple[int, int]],
    budgets: Sequence[int],
) -> dict[str, Any]:
    """Return blocks, tokens and concurrency, or what the refusal says.

    Block and page size are taken from the planned layout: the workers settle them earlier.
    """
    config = _config(options)
    workers = [
        _worker(model, options, layout, stage, is_last=stage == stages[-1]) for stage in stages
    ]
    try:
        found = kv_cache_utils.get_kv_cache_configs(config, workers, list(budgets))
    except ValueError as refusal:
        return read_refusal(str(refusal))
    tokens, concurrency = kv_cache_utils.get_kv_cache_capacity(config, found[0])
    return {
        "refused": False,
        "numBlocks": found[0].num_blocks,
        "tokens": tokens,
        "maxConcurrency": round(concurrency, 6),
    }


def read_refusal(text: str) -> dict[str, Any]:
    """Return what a refusal says: need in GiB and the longest request, if it says them."""
    needed, longest = _NEEDED.search(text), _LONGEST.search(text)
    if needed is None:
        return {"refused": True}
    return {
        "refused": True,
        "neededGib": float(needed[1]),
        "largestMaxModelLen": int(longest[1]) if longest else 0,
    }


def _config(options: EngineOptions) -> Any:
    """Return those parts of vLLM's configuration that its layout reads."""
    return SimpleNamespace(
        scheduler_config=SimpleNamespace(disable_hybrid_kv_cache_manager=not options.saves_windows),
        cache_config=SimpleNamespace(
            get_resolved_kv_cache_layout=lambda: KVCacheLayout.LBNHC,
            num_gpu_blocks_override=None,
            mamba_cache_mode=_state_mode(options),
            prefix_cache_retention_interval=None,
        ),
        parallel_config=SimpleNamespace(
            decode_context_parallel_size=options.context_parallel,
            tensor_parallel_size=options.tensor_parallel,
        ),
        attention_config=SimpleNamespace(hisparse_config=None),
        speculative_config=None,
        model_config=SimpleNamespace(
            max_model_len=options.max_model_len, original_max_model_len=options.max_model_len
        ),
        max_in_flight_tokens=options.in_flight_tokens,
        num_prefill_lookahead_tokens=0,
    )


def _state_mode(options: EngineOptions) -> str:
    return "align" if options.caches_prefixes else "none"


def _worker(
    model: Architecture,
    options: EngineOptions,
    layout: KvLayout,
    stage: tuple[int, int],
    *,
    is_last: bool,
) -> dict[str, Any]:
    """Return what a worker of a stage says of its layers, those for drafts included."""
    names = {f"layers.{index}": model.layers[index].kind for index in range(*stage)}
    if options.loads_mtp and is_last:
        names |= {f"mtp.{index}": LayerKind.FULL for index in range(model.mtp_layers)}
    return {name: _layer(model, options, layout, kind) for name, kind in names.items()}


def _layer(model: Architecture, options: EngineOptions, layout: KvLayout, kind: LayerKind) -> Any:
    block, value = layout.block_size, _TYPES[options.kv_value_bytes or 0]
    if kind is LayerKind.DELTA_NET:
        return _state(model, options, layout)
    if model.mla:
        width = model.mla.kv_lora_rank + model.mla.rope_head_dim
        return MLAAttentionSpec(block_size=block, num_kv_heads=1, head_size=width, dtype=value)
    shape = {
        "block_size": block,
        "num_kv_heads": max(1, model.kv_heads // options.tensor_parallel),
        "head_size": model.head_dim,
        "dtype": value,
    }
    if kind is LayerKind.SLIDING:
        return SlidingWindowSpec(**shape, sliding_window=model.window)
    if kind is LayerKind.CHUNKED:
        return ChunkedLocalAttentionSpec(**shape, attention_chunk_size=model.window)
    return FullAttentionSpec(**shape)


def _state(model: Architecture, options: EngineOptions, layout: KvLayout) -> Any:
    net, ranks = model.delta_net, options.tensor_parallel
    assert net is not None
    mixed = 2 * net.key_heads * net.key_head_dim + net.value_heads * net.value_head_dim
    return MambaSpec(
        block_size=options.max_model_len,
        shapes=(
            (net.conv_kernel - 1 + options.draft_tokens, mixed // ranks),
            (net.value_heads // ranks, net.value_head_dim, net.key_head_dim),
        ),
        dtypes=(torch.bfloat16, _TYPES[options.state_value_bytes]),
        page_size_padded=layout.page_bytes,
        mamba_cache_mode=_state_mode(options),
        num_speculative_blocks=options.draft_tokens,
    )
