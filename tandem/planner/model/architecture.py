"""What a ``config.json`` says of a model, as far as memory and shard widths depend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.planner.model.config_keys import ConfigKeys
from tandem.planner.model.layers import Layer, LayerKind, read_layers
from tandem.planner.model.not_modelled import not_modelled
from tandem.planner.model.quantization import Quantization, read_quantization
from tandem.planner.model.rope import default_request, longest_request
from tandem.planner.specs import SpecModel

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Architecture", "Layer", "LayerKind", "read_architecture"]

_LLAMA4 = ("llama4", "llama4_text")

_TEXT_PARTS = ("text_config", "llm_config", "language_config")


class Mla(SpecModel):
    """Multi-head latent attention, which caches one compressed vector a token."""

    q_lora_rank: int | None
    """None when queries are not compressed."""
    kv_lora_rank: int
    nope_head_dim: int
    rope_head_dim: int
    v_head_dim: int


class DeltaNet(SpecModel):
    """Gated delta net layers, whose state has one size however long the request is."""

    key_heads: int
    value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel: int
    state_type: str | None
    """Type of the recurrent state; None means the model's own."""


class Experts(SpecModel):
    """The mixture of experts of a layer."""

    count: int
    per_token: int
    width: int
    """Intermediate size of one routed expert."""
    shared_width: int
    """Intermediate size of all shared experts together; 0 when there are none."""


class VisionTower(SpecModel):
    """The part of a multimodal model that reads images."""

    depth: int
    hidden: int
    width: int
    heads: int | None
    patch_values: int
    """Values of one patch: channels x patch size squared x frames."""
    positions: int
    """Learned positions; 0 when there are none."""
    merged: int
    """Patches that the merger joins to one token."""
    out_hidden: int


class Architecture(SpecModel):
    """One model. Sizes are counts of elements, whole, before any split over ranks."""

    name: str
    """``model_type``, e.g. ``qwen3_moe``; for a multimodal model that of its text part."""
    hidden: int
    layers: tuple[Layer, ...]
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    dense_width: int | None
    """Intermediate size of the layers without experts; None when every layer has experts."""
    experts: Experts | None = None
    mla: Mla | None = None
    delta_net: DeltaNet | None = None
    window: int | None = None
    """Tokens that a sliding window or an attention chunk spans."""
    vision: VisionTower | None = None
    quantization: Quantization | None = None
    dtype: str
    """The model's own type, e.g. ``bfloat16``; that when config.json names none."""
    max_positions: int | None
    """Longest request the model was made for, in tokens."""
    longest_request: int | None = None
    """Largest max-model-len that vLLM accepts, in tokens; None when it accepts any."""
    default_request: int | None = None
    """The max-model-len that vLLM takes when none is set; None when config.json has none."""
    tied_embeddings: bool
    """Whether the output layer is the embedding itself."""
    has_attention_bias: bool
    has_output_gate: bool
    """Whether the query projection is twice as wide, for a gate on attention's output."""
    mtp_layers: int
    """Layers for multi-token prediction, which are loaded for speculative decoding alone."""
    not_modelled: str | None = None
    """What of its KV cache the planner does not know, in words; None when it knows all."""

    @property
    def is_hybrid(self) -> bool:
        """Tell whether some layers keep a state instead of keys and values."""
        return any(layer.kind is LayerKind.DELTA_NET for layer in self.layers)

    @property
    def is_multimodal(self) -> bool:
        """Tell whether the model reads more than text."""
        return self.vision is not None


def read_architecture(config: Mapping[str, Any]) -> Architecture:
    """Read a model's ``config.json``.

    Raises UnreadableConfig when a key that every model has is missing or holds no usable
    value. A model whose KV cache has parts that the planner does not know is no error: it says
    so in ``not_modelled``. Which names a key goes by: vllm/transformers_utils/
    model_arch_config_convertor.py (0.32.0).
    """
    whole = ConfigKeys(config)
    thinker = whole.inner("thinker_config")
    outer = thinker or whole
    text = outer.inner(*_TEXT_PARTS) or outer
    heads = text.size("num_attention_heads")
    hidden = text.size("hidden_size")
    layers = read_layers(text)
    experts = _experts(text, layers)
    mla = _mla(text)
    positions = text.number("max_position_embeddings", "max_sequence_length", "seq_length") or None
    return Architecture(
        name=text.text("model_type") or whole.text("model_type") or "unknown",
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=text.number("num_key_value_heads", "num_kv_heads", "n_head_kv") or heads,
        head_dim=text.number("head_dim") or max(1, hidden // heads),
        vocab=text.size("vocab_size"),
        dense_width=_dense_width(text, layers),
        experts=experts,
        mla=mla,
        delta_net=_delta_net(text, layers),
        window=text.number("sliding_window", "attention_chunk_size") or None,
        vision=_vision(outer, hidden),
        quantization=read_quantization(whole) or read_quantization(text),
        dtype=_dtype(whole, text),
        max_positions=positions,
        longest_request=longest_request(text, positions),
        default_request=default_request(text, positions),
        tied_embeddings=_tied(whole, text),
        has_attention_bias=text.flag("attention_bias") or text.text("model_type") == "qwen2",
        has_output_gate=_has_output_gate(text),
        mtp_layers=_mtp_layers(text),
        not_modelled=not_modelled(whole, text, layers),
    )


def _experts(text: ConfigKeys, layers: tuple[Layer, ...]) -> Experts | None:
    if not any(layer.has_experts for layer in layers):
        return None
    width = text.number("moe_intermediate_size") or text.size("intermediate_size")
    shared = text.number("shared_expert_intermediate_size", "shared_intermediate_size")
    if shared is None and text.text("model_type") in _LLAMA4:
        shared = width
    if shared is None:
        shared = width * (text.number("n_shared_experts", "num_shared_experts") or 0)
    return Experts(
        count=text.size("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts"),
        per_token=text.number("num_experts_per_tok", "experts_per_token", "top_k_experts") or 1,
        width=width,
        shared_width=shared,
    )


def _dense_width(text: ConfigKeys, layers: tuple[Layer, ...]) -> int | None:
    if all(layer.has_experts for layer in layers):
        return None
    if text.text("model_type") in _LLAMA4:
        return text.size("intermediate_size_mlp", "intermediate_size")
    return text.size("intermediate_size", "ffn_dim")


def _mla(text: ConfigKeys) -> Mla | None:
    if not text.number("kv_lora_rank"):
        return None
    return Mla(
        q_lora_rank=text.number("q_lora_rank") or None,
        kv_lora_rank=text.size("kv_lora_rank"),
        nope_head_dim=text.size("qk_nope_head_dim"),
        rope_head_dim=text.size("qk_rope_head_dim"),
        v_head_dim=text.size("v_head_dim"),
    )


def _delta_net(text: ConfigKeys, layers: tuple[Layer, ...]) -> DeltaNet | None:
    if not any(layer.kind is LayerKind.DELTA_NET for layer in layers):
        return None
    if "linear_num_key_heads" not in text:
        return None
    return DeltaNet(
        key_heads=text.size("linear_num_key_heads"),
        value_heads=text.size("linear_num_value_heads"),
        key_head_dim=text.size("linear_key_head_dim"),
        value_head_dim=text.size("linear_value_head_dim"),
        conv_kernel=text.size("linear_conv_kernel_dim"),
        state_type=_state_type(text),
    )


def _state_type(text: ConfigKeys) -> str | None:
    """vLLM reads the key for Qwen3.5 alone (vllm/model_executor/models/config.py, 0.32.0)."""
    is_read = (text.text("model_type") or "").startswith("qwen3_5")
    return text.text("mamba_ssm_dtype") if is_read else None


def _vision(outer: ConfigKeys, hidden: int) -> VisionTower | None:
    """Return the tower, or None when its sizes are not all written."""
    vision = outer.inner("vision_config")
    if vision is None:
        return None
    width = vision.number("hidden_size", "embed_dim", "width")
    depth = vision.layers("depth", "num_hidden_layers", "layers")
    if not width or not depth:
        return None
    patch = vision.number("patch_size", "spatial_patch_size") or 0
    frames = vision.number("temporal_patch_size") or 1
    return VisionTower(
        depth=depth,
        hidden=width,
        width=vision.number("intermediate_size") or 4 * width,
        heads=vision.number("num_heads", "num_attention_heads") or None,
        patch_values=(vision.number("in_channels", "num_channels") or 3) * patch**2 * frames,
        positions=vision.number("num_position_embeddings") or 0,
        merged=(vision.number("spatial_merge_size") or 1) ** 2,
        out_hidden=vision.number("out_hidden_size") or hidden,
    )


def _dtype(whole: ConfigKeys, text: ConfigKeys) -> str:
    named = whole.text("dtype", "torch_dtype") or text.text("dtype", "torch_dtype")
    return (named or "bfloat16").removeprefix("torch.")


def _tied(whole: ConfigKeys, text: ConfigKeys) -> bool:
    holder = whole if "tie_word_embeddings" in whole else text
    if "tie_word_embeddings" in holder:
        return holder.flag("tie_word_embeddings")
    # What transformers assumes for these when the file is silent.
    return (text.text("model_type") or "").startswith("gemma")


def _has_output_gate(text: ConfigKeys) -> bool:
    """vLLM assumes the gate for these families (qwen3_next.py, 0.19.1)."""
    if "attn_output_gate" in text:
        return text.flag("attn_output_gate")
    return (text.text("model_type") or "").startswith(("qwen3_next", "qwen3_5"))


def _mtp_layers(text: ConfigKeys) -> int:
    return text.layers("num_nextn_predict_layers", "mtp_num_hidden_layers") or 0
