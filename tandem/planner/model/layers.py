"""The layers of a model one by one: what each keeps of a request, and whether it has experts."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from tandem.errors import UnreadableConfig
from tandem.planner.specs import SpecModel

if TYPE_CHECKING:
    from tandem.planner.model.config_keys import ConfigKeys


class LayerKind(StrEnum):
    """What a layer keeps of a request."""

    FULL = "full_attention"
    """Keys and values of every token."""
    SLIDING = "sliding_attention"
    """Those of the last window of tokens."""
    CHUNKED = "chunked_attention"
    """Those of the current chunk of tokens."""
    DELTA_NET = "linear_attention"
    """A state of one size (gated delta net)."""
    OTHER = "other"
    """Something that the planner does not model."""


class Layer(SpecModel):
    """One decoder layer."""

    kind: LayerKind
    has_experts: bool


def read_layers(text: ConfigKeys) -> tuple[Layer, ...]:
    """Return the decoder layers in their order, without those for multi-token prediction.

    Raises UnreadableConfig.
    """
    count = text.layers("num_hidden_layers")
    if not count:
        raise UnreadableConfig("num_hidden_layers is missing or 0")
    kinds = _kinds(text, count)
    with_experts = _with_experts(text, count)
    return tuple(
        Layer(kind=kind, has_experts=index in with_experts) for index, kind in enumerate(kinds)
    )


def _kinds(text: ConfigKeys, count: int) -> list[LayerKind]:
    named = text.texts("layer_types", "layers_block_type")
    if named:
        if len(named) < count:
            raise UnreadableConfig(f"layer_types names {len(named)} of {count} layers")
        kinds = [_kind(name) for name in named[:count]]
    elif interval := text.number("full_attention_interval"):
        kinds = _every(interval, count, LayerKind.DELTA_NET)
    elif text.number("attention_chunk_size"):
        kinds = _llama4(text, count)
    elif text.number("sliding_window"):
        kinds = _windowed(text, count)
    else:
        kinds = [LayerKind.FULL] * count
    if not text.number("sliding_window") or _window_is_off(text):
        # vLLM takes such a layer for a full one (vllm/config/model.py, get_sliding_window).
        kinds = [LayerKind.FULL if kind is LayerKind.SLIDING else kind for kind in kinds]
    return kinds


def _kind(name: str) -> LayerKind:
    if name == "attention":
        return LayerKind.FULL
    return LayerKind(name) if name in set(LayerKind) else LayerKind.OTHER


def _every(interval: int, count: int, other: LayerKind) -> list[LayerKind]:
    """Return full attention in every ``interval``-th layer, ``other`` in the rest."""
    return [LayerKind.FULL if number % interval == 0 else other for number in range(1, count + 1)]


def _llama4(text: ConfigKeys, count: int) -> list[LayerKind]:
    """Return chunks where there are rotary positions (vllm/model_executor/models/llama4.py)."""
    rope = text.numbers(
        "no_rope_layers"
    )  # 1 where a layer has rotary positions, in spite of its name
    if len(rope) >= count:
        return [LayerKind.CHUNKED if has else LayerKind.FULL for has in rope[:count]]
    return _every(text.number("no_rope_layer_interval") or 4, count, LayerKind.CHUNKED)


def _windowed(text: ConfigKeys, count: int) -> list[LayerKind]:
    """Return the layers of a model with a window and without layer_types."""
    model = text.text("model_type") or ""
    if pattern := text.number("sliding_window_pattern"):
        return _every(pattern, count, LayerKind.SLIDING)
    if model.startswith("gemma3"):
        return _every(6, count, LayerKind.SLIDING)
    if model in {"gemma2", "gpt_oss"}:
        return _every(2, count, LayerKind.SLIDING)
    if text.flag("use_sliding_window"):  # Qwen: the first layers see everything
        full = min(text.number("max_window_layers") or 0, count)
        return [LayerKind.FULL] * full + [LayerKind.SLIDING] * (count - full)
    return [LayerKind.SLIDING] * count


def _window_is_off(text: ConfigKeys) -> bool:
    return "use_sliding_window" in text and not text.flag("use_sliding_window")


def _with_experts(text: ConfigKeys, count: int) -> set[int]:
    """Return the indices of the layers with experts.

    Sources: the decoder layers of deepseek_v2.py (GLM alike), qwen3_next.py, llama4.py in
    vllm/model_executor/models (0.32.0).
    """
    if not text.number("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"):
        return set()
    if text.is_list("moe_layer_freq"):  # one number a layer, 0 where it is dense
        return {index for index, has in enumerate(text.numbers("moe_layer_freq")) if has}
    dense = {*range(min(text.number("first_k_dense_replace") or 0, count))}
    dense |= {*text.numbers("mlp_only_layers")}
    every = text.number("decoder_sparse_step", "interleave_moe_layer_step") or 1
    frequency = text.number("moe_layer_freq") or 1
    return {
        index
        for index in range(count)
        if index not in dense and (index + 1) % every == 0 and index % frequency == 0
    }
