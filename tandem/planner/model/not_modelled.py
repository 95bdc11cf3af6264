"""Models whose KV cache the planner does not know, and what of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.model.layers import Layer, LayerKind

if TYPE_CHECKING:
    from tandem.planner.model.config_keys import ConfigKeys

_FAMILIES = {
    "deepseek_v4": "DeepSeek-V4's compressed caches",
    "deepseek_v32": "the indexer caches of sparse attention",
    "glm_moe_dsa": "the indexer caches of sparse attention",
    "gemma4": "Gemma 4's caches, whose heads differ between layers",
    "gemma3n": "Gemma 3n's shared caches",
    "mllama": "cross attention",
}
"""Beginnings of model_type, and what the planner does not know of each."""

_KEYS = {
    "compress_ratios": "compressed caches",
    "index_topk": "the indexer caches of sparse attention",
    "block_configs": "layers that differ in their number of heads",
    "hybrid_override_pattern": "Mamba layers",
    "mamba_d_state": "Mamba layers",
    "mamba_num_heads": "Mamba layers",
    "ssm_state_size": "Mamba layers",
    "linear_attn_config": "Kimi delta attention",
    "global_head_dim": "heads that differ between layers",
    "cross_attention_layers": "cross attention",
}
"""Keys, and what the planner does not know of a model that has one."""


def not_modelled(whole: ConfigKeys, text: ConfigKeys, layers: tuple[Layer, ...]) -> str | None:
    """Return in words what of the KV cache is not modelled; the first reason is enough."""
    for model in filter(None, (whole.text("model_type"), text.text("model_type"))):
        for start, reason in _FAMILIES.items():
            if model.startswith(start):
                return reason
    for key, reason in _KEYS.items():
        if key in text:
            return reason
    if whole.flag("is_encoder_decoder"):
        return "the caches of an encoder with a decoder"
    if text.number("num_kv_shared_layers"):
        return "layers that share one KV cache"
    if any(kind != 1 for kind in text.numbers("attn_type_list")):
        return "lightning attention"
    if any(layer.kind is LayerKind.OTHER for layer in layers):
        known = {str(kind) for kind in LayerKind} | {"attention"}
        unknown = sorted({*text.texts("layer_types", "layers_block_type")} - known)
        return f"layers of type {', '.join(unknown)}"
    has_states = any(layer.kind is LayerKind.DELTA_NET for layer in layers)
    if has_states and "linear_num_key_heads" not in text:
        return "linear attention other than gated delta nets"
    if any(layer.kind is LayerKind.CHUNKED for layer in layers) and not text.number(
        "attention_chunk_size"
    ):
        return "chunked attention without attention_chunk_size"
    return None
