"""Real config.json files, and what is read of them."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.errors import UnreadableConfig
from tandem.planner.model.architecture import Architecture, LayerKind, read_architecture
from tests.models import architecture, config

LEAST: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": 256,
}
"""The least that a dense model's config.json has to say."""


def kinds(model: Architecture) -> list[str]:
    """Return the kinds of the first eight layers, by their first letter."""
    return [layer.kind[0] for layer in model.layers[:8]]


def test_a_dense_model() -> None:
    model = architecture("Meta-Llama-3.1-70B")
    assert (len(model.layers), model.hidden, model.dense_width) == (80, 8192, 28672)
    assert (model.heads, model.kv_heads, model.head_dim) == (64, 8, 128)
    assert model.experts is None
    assert not model.tied_embeddings
    assert model.max_positions == 131072


def test_experts_and_fp8_blocks() -> None:
    model = architecture("Qwen3-30B-A3B-FP8")
    assert model.experts is not None
    assert (model.experts.count, model.experts.per_token, model.experts.width) == (128, 8, 768)
    assert model.experts.shared_width == 0
    assert model.dense_width is None
    assert model.quantization is not None
    assert (model.quantization.method, model.quantization.bits) == ("fp8", 8)
    assert model.quantization.block == (128, 128)
    assert model.quantization.leaves_out("layers.3.mlp.gate")
    assert not model.quantization.leaves_out("layers.3.mlp.gate_proj")


def test_experts_of_minimax_go_by_the_dense_width() -> None:
    model = architecture("MiniMax-M2.7")
    assert model.experts is not None
    assert (model.experts.count, model.experts.width, model.experts.shared_width) == (256, 1536, 0)


def test_the_first_layers_of_deepseek_are_dense() -> None:
    model = architecture("DeepSeek-R1")
    assert [layer.has_experts for layer in model.layers[:5]] == [False, False, False, True, True]
    assert (model.dense_width, model.mtp_layers) == (18432, 1)
    assert model.experts is not None
    assert (model.experts.width, model.experts.shared_width) == (2048, 2048)
    assert model.mla is not None
    assert (model.mla.kv_lora_rank, model.mla.rope_head_dim) == (512, 64)


def test_a_hybrid_multimodal_model() -> None:
    model = architecture("Qwen3.5-122B-A10B")
    assert kinds(model) == list("lllflllf")
    assert model.is_hybrid
    assert model.is_multimodal
    assert model.vision is not None
    assert (model.vision.heads, model.vision.depth) == (16, 27)
    assert model.delta_net is not None
    assert (model.delta_net.key_heads, model.delta_net.value_heads) == (16, 64)
    assert model.delta_net.state_type == "float32"
    assert model.has_output_gate
    assert (model.head_dim, model.kv_heads, model.mtp_layers) == (256, 2, 1)
    assert model.not_modelled is None


def test_layer_types_are_derived_when_they_are_not_written() -> None:
    written = config("Qwen3.5-122B-A10B")
    derived = {**written, "text_config": {**written["text_config"], "layer_types": None}}
    assert read_architecture(derived) == read_architecture(written)


def test_a_checkpoint_may_want_a_kv_type_of_its_own() -> None:
    quantization = architecture("Qwen3.5-122B-A10B-NVFP4").quantization
    assert quantization is not None
    assert (quantization.bits, quantization.group, quantization.kv_bits) == (4, 16, 8)
    assert quantization.leaves_out("layers.0.linear_attn.out_proj")
    assert not quantization.leaves_out("layers.0.mlp.experts.7.up_proj")


def test_sliding_windows() -> None:
    model = architecture("gpt-oss-120b")
    assert kinds(model) == list("sfsfsfsf")
    assert model.window == 128
    assert model.quantization is not None
    assert model.quantization.leaves_out("layers.4.self_attn.q_proj")


def test_a_window_that_is_switched_off_is_none() -> None:
    on = {**LEAST, "sliding_window": 32, "use_sliding_window": True, "max_window_layers": 1}
    assert [layer.kind for layer in read_architecture(on).layers] == [
        LayerKind.FULL,
        LayerKind.SLIDING,
    ]
    off = {**on, "use_sliding_window": False}
    assert {layer.kind for layer in read_architecture(off).layers} == {LayerKind.FULL}


def test_chunked_attention() -> None:
    model = architecture("Llama-4-Scout-17B-16E-Instruct")
    assert kinds(model) == list("cccfcccf")
    assert model.window == 8192
    assert model.experts is not None
    assert (model.experts.count, model.experts.shared_width) == (16, 8192)
    assert model.dense_width is None


NOT_MODELLED: dict[str, tuple[dict[str, Any], str]] = {
    "DeepSeek-V4": ({"model_type": "deepseek_v4"}, "DeepSeek-V4's compressed caches"),
    "a sparse indexer": ({"index_topk": 2048}, "the indexer caches of sparse attention"),
    "an unknown layer": ({"layer_types": ["full_attention", "conv"]}, "layers of type conv"),
    "Mamba": ({"mamba_d_state": 128}, "Mamba layers"),
    "lightning attention": ({"attn_type_list": [1, 0]}, "lightning attention"),
    "linear attention without sizes": (
        {"layer_types": ["full_attention", "linear_attention"]},
        "linear attention other than gated delta nets",
    ),
}


@pytest.mark.parametrize(("changes", "words"), NOT_MODELLED.values(), ids=NOT_MODELLED)
def test_what_is_not_modelled_is_said(changes: dict[str, Any], words: str) -> None:
    assert read_architecture({**LEAST, **changes}).not_modelled == words


def test_experts_may_be_listed_layer_by_layer() -> None:
    listed = {**LEAST, "moe_layer_freq": [0, 1], "num_experts": 4, "moe_intermediate_size": 8}
    assert [layer.has_experts for layer in read_architecture(listed).layers] == [False, True]


def test_a_tower_whose_sizes_are_not_written_is_left_out() -> None:
    assert read_architecture({**LEAST, "vision_config": {"model_type": "x"}}).vision is None


def test_gemma_4_is_not_modelled() -> None:
    assert architecture("gemma-4-26B-A4B").not_modelled is not None


UNREADABLE: dict[str, tuple[dict[str, Any], str]] = {
    "no heads": ({"num_attention_heads": None}, "num_attention_heads is missing or 0"),
    "layers in words": (
        {"num_hidden_layers": "many"},
        "num_hidden_layers is 'many', not a whole number",
    ),
    "a text config that is a list": ({"text_config": []}, "text_config is [], not an object"),
    "too few layer types": (
        {"layer_types": ["full_attention"]},
        "layer_types names 1 of 2 layers",
    ),
    "more draft layers than any model": (
        {"num_nextn_predict_layers": 10**9},
        "num_nextn_predict_layers is 1000000000, no model has more than 4096",
    ),
    "more layers than any model": (
        {"num_hidden_layers": 10**9},
        "num_hidden_layers is 1000000000, no model has more than 4096",
    ),
}


@pytest.mark.parametrize(("changes", "words"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_names_the_key(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UnreadableConfig) as unreadable:
        read_architecture({**LEAST, **changes})
    assert str(unreadable.value) == words
