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


def test_the_type_of_a_state_is_read_for_qwen3_5_alone() -> None:
    written = config("Qwen3.5-122B-A10B")
    other = {**written["text_config"], "model_type": "qwen3_next"}
    assert other["mamba_ssm_dtype"] == "float32"
    net = read_architecture(other).delta_net
    assert net is not None
    assert net.state_type is None


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


INDEXER = "the indexer caches of sparse attention"
NOT_MODELLED: dict[str, tuple[dict[str, Any], str]] = {
    "DeepSeek-V4": ({"model_type": "deepseek_v4"}, "DeepSeek-V4's compressed caches"),
    "DeepSeek-V3.2": ({"model_type": "deepseek_v32"}, INDEXER),
    "GLM with sparse attention": ({"model_type": "glm_moe_dsa"}, INDEXER),
    "Gemma 4": ({"model_type": "gemma4"}, "Gemma 4's caches, whose heads differ between layers"),
    "Gemma 3n": ({"model_type": "gemma3n"}, "Gemma 3n's shared caches"),
    "Llama 3.2 Vision": ({"model_type": "mllama"}, "cross attention"),
    "compressed caches": ({"compress_ratios": [4]}, "compressed caches"),
    "a sparse indexer": ({"index_topk": 2048}, INDEXER),
    "blocks that differ": ({"block_configs": []}, "layers that differ in their number of heads"),
    "an unknown layer": ({"layer_types": ["full_attention", "conv"]}, "layers of type conv"),
    "unknown layers": (
        {"layers_block_type": ["rwkv", "conv"]},
        "layers of type conv, rwkv",
    ),
    "Mamba": ({"mamba_d_state": 128}, "Mamba layers"),
    "Mamba by its pattern": ({"hybrid_override_pattern": "M*"}, "Mamba layers"),
    "Mamba by its heads": ({"mamba_num_heads": 8}, "Mamba layers"),
    "Mamba by its state": ({"ssm_state_size": 8}, "Mamba layers"),
    "Kimi": ({"linear_attn_config": {}}, "Kimi delta attention"),
    "heads that differ": ({"global_head_dim": 8}, "heads that differ between layers"),
    "cross attention": ({"cross_attention_layers": [1]}, "cross attention"),
    "an encoder": ({"is_encoder_decoder": True}, "the caches of an encoder with a decoder"),
    "shared caches": ({"num_kv_shared_layers": 1}, "layers that share one KV cache"),
    "lightning attention": ({"attn_type_list": [1, 0]}, "lightning attention"),
    "linear attention without sizes": (
        {"layer_types": ["full_attention", "linear_attention"]},
        "linear attention other than gated delta nets",
    ),
    "chunks without a size": (
        {"layer_types": ["full_attention", "chunked_attention"]},
        "chunked attention without attention_chunk_size",
    ),
}


@pytest.mark.parametrize(("changes", "words"), NOT_MODELLED.values(), ids=NOT_MODELLED)
def test_what_is_not_modelled_is_said(changes: dict[str, Any], words: str) -> None:
    assert read_architecture({**LEAST, **changes}).not_modelled == words


def test_a_family_is_told_by_the_text_part_or_by_the_whole() -> None:
    for written in (
        {"model_type": "mllama", "text_config": {**LEAST, "model_type": "mllama_text_model"}},
        {"model_type": "mllama", "text_config": LEAST},
        {"text_config": {**LEAST, "model_type": "mllama_text_model"}},
        {"model_type": "new", "text_config": {**LEAST, "model_type": "mllama_text_model"}},
    ):
        assert read_architecture(written).not_modelled == "cross attention"


def test_what_is_modelled_is_not_said_otherwise() -> None:
    assert read_architecture({**LEAST, **DELTA_NET}).not_modelled is None
    assert read_architecture({**LEAST, "attn_type_list": [1, 1]}).not_modelled is None
    assert read_architecture({**LEAST, "attention_chunk_size": 8}).not_modelled is None


def test_experts_may_be_listed_layer_by_layer() -> None:
    listed = {**LEAST, "moe_layer_freq": [0, 1], "num_experts": 4, "moe_intermediate_size": 8}
    assert [layer.has_experts for layer in read_architecture(listed).layers] == [False, True]


def test_a_tower_whose_sizes_are_not_written_is_left_out() -> None:
    assert read_architecture({**LEAST, "vision_config": {"model_type": "x"}}).vision is None


EXPERTS = {"num_experts": 4, "moe_intermediate_size": 8}
DELTA_NET = {
    "layer_types": ["linear_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 3,
    "linear_key_head_dim": 5,
    "linear_value_head_dim": 7,
    "linear_conv_kernel_dim": 11,
}
OTHER_NAMES: dict[str, tuple[dict[str, Any], str, Any]] = {
    "kv heads by their first name": ({"num_key_value_heads": 2}, "kv_heads", 2),
    "kv heads of falcon": ({"num_kv_heads": 2}, "kv_heads", 2),
    "kv heads of falcon, by n_head_kv": ({"n_head_kv": 2}, "kv_heads", 2),
    "as many kv heads as heads": ({}, "kv_heads", 4),
    "a head of hidden / heads": ({}, "head_dim", 16),
    "a head of its own size": ({"head_dim": 24}, "head_dim", 24),
    "positions": ({"max_position_embeddings": 100}, "max_positions", 100),
    "positions by max_sequence_length": ({"max_sequence_length": 100}, "max_positions", 100),
    "positions by seq_length": ({"seq_length": 100}, "max_positions", 100),
    "no positions": ({}, "max_positions", None),
    "a width by ffn_dim": ({"intermediate_size": None, "ffn_dim": 96}, "dense_width", 96),
    "a width of Llama 4": (
        {"model_type": "llama4_text", "intermediate_size_mlp": 96},
        "dense_width",
        96,
    ),
    "a type": ({"torch_dtype": "torch.float16"}, "dtype", "float16"),
    "a type by its newer name": ({"dtype": "float32"}, "dtype", "float32"),
    "no type": ({}, "dtype", "bfloat16"),
    "no name": ({}, "name", "unknown"),
    "tied as written": ({"tie_word_embeddings": True}, "tied_embeddings", True),
    "not tied as written": (
        {"model_type": "gemma2", "tie_word_embeddings": False},
        "tied_embeddings",
        False,
    ),
    "tied where the file is silent": ({"model_type": "gemma2"}, "tied_embeddings", True),
    "not tied where the file is silent": ({}, "tied_embeddings", False),
    "a bias": ({"attention_bias": True}, "has_attention_bias", True),
    "a bias of Qwen 2": ({"model_type": "qwen2"}, "has_attention_bias", True),
    "no bias": ({}, "has_attention_bias", False),
    "a gate as written": ({"attn_output_gate": True}, "has_output_gate", True),
    "no gate as written": (
        {"model_type": "qwen3_next", "attn_output_gate": False},
        "has_output_gate",
        False,
    ),
    "a gate of Qwen3-Next": ({"model_type": "qwen3_next"}, "has_output_gate", True),
    "a gate of Qwen3.5": ({"model_type": "qwen3_5_moe_text"}, "has_output_gate", True),
    "no gate": ({}, "has_output_gate", False),
    "draft layers": ({"num_nextn_predict_layers": 3}, "mtp_layers", 3),
    "draft layers of Qwen3.5": ({"mtp_num_hidden_layers": 3}, "mtp_layers", 3),
    "no draft layers": ({}, "mtp_layers", 0),
    "a window": ({"sliding_window": 32}, "window", 32),
    "a chunk": ({"attention_chunk_size": 32}, "window", 32),
    "no window": ({"sliding_window": 0}, "window", None),
}


@pytest.mark.parametrize(("changes", "field", "value"), OTHER_NAMES.values(), ids=OTHER_NAMES)
def test_a_key_is_read_by_all_of_its_names(changes: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(read_architecture({**LEAST, **changes}), field) == value


@pytest.mark.parametrize("part", ["text_config", "llm_config", "language_config"])
def test_the_text_part_goes_by_several_names_and_may_be_in_a_thinker(part: str) -> None:
    named = {"model_type": "outer", part: {**LEAST, "model_type": "inner"}}
    for written in (named, {"thinker_config": named}):
        model = read_architecture(written)
        assert (model.name, model.hidden) == ("inner", 64)
    assert read_architecture({"model_type": "outer", part: LEAST}).name == "outer"


@pytest.mark.parametrize(
    ("changes", "numbers"),
    [
        ({}, (4, 1, 8, 0)),
        ({"num_experts": None, "n_routed_experts": 5}, (5, 1, 8, 0)),
        ({"num_experts": None, "num_local_experts": 5}, (5, 1, 8, 0)),
        ({"num_experts": None, "moe_num_experts": 5}, (5, 1, 8, 0)),
        ({"num_experts_per_tok": 2}, (4, 2, 8, 0)),
        ({"experts_per_token": 2}, (4, 2, 8, 0)),
        ({"top_k_experts": 2}, (4, 2, 8, 0)),
        ({"moe_intermediate_size": None}, (4, 1, 128, 0)),
        ({"n_shared_experts": 3}, (4, 1, 8, 24)),
        ({"num_shared_experts": 3}, (4, 1, 8, 24)),
        ({"shared_expert_intermediate_size": 9}, (4, 1, 8, 9)),
        ({"shared_intermediate_size": 9}, (4, 1, 8, 9)),
        ({"model_type": "llama4"}, (4, 1, 8, 8)),
        ({"model_type": "llama4_text"}, (4, 1, 8, 8)),
    ],
)
def test_experts_go_by_many_names(changes: dict[str, Any], numbers: tuple[int, ...]) -> None:
    model = read_architecture({**LEAST, **EXPERTS, **changes})
    assert model.experts is not None
    experts = model.experts
    assert (experts.count, experts.per_token, experts.width, experts.shared_width) == numbers


@pytest.mark.parametrize(
    ("changes", "with_experts"),
    [
        ({}, "0123456"),
        ({"first_k_dense_replace": 2}, "23456"),
        ({"first_k_dense_replace": 9}, ""),
        ({"mlp_only_layers": [0, 5]}, "12346"),
        ({"decoder_sparse_step": 3}, "25"),
        ({"interleave_moe_layer_step": 2}, "135"),
        ({"moe_layer_freq": 3}, "036"),
        ({"moe_layer_freq": [0, 1, 1]}, "12"),
        ({"num_experts": None}, ""),
    ],
)
def test_layers_with_experts(changes: dict[str, Any], with_experts: str) -> None:
    written = {**LEAST, **EXPERTS, "num_hidden_layers": 7, **changes}
    layers = read_architecture(written).layers
    assert "".join(str(at) for at, layer in enumerate(layers) if layer.has_experts) == with_experts


@pytest.mark.parametrize(
    ("changes", "kinds_of_seven"),
    [
        ({}, "fffffff"),
        ({"full_attention_interval": 3}, "llfllfl"),
        ({"attention_chunk_size": 8}, "cccfccc"),
        ({"attention_chunk_size": 8, "no_rope_layer_interval": 2}, "cfcfcfc"),
        ({"attention_chunk_size": 8, "no_rope_layers": [1, 0, 1, 1, 0, 1, 1]}, "cfccfcc"),
        ({"attention_chunk_size": 8, "no_rope_layers": [0]}, "cccfccc"),
        ({"sliding_window": 8}, "sssssss"),
        ({"sliding_window": 8, "sliding_window_pattern": 3}, "ssfssfs"),
        ({"sliding_window": 8, "model_type": "gemma3_text"}, "sssssfs"),
        ({"sliding_window": 8, "model_type": "gemma2"}, "sfsfsfs"),
        ({"sliding_window": 8, "model_type": "gpt_oss"}, "sfsfsfs"),
        ({"sliding_window": 8, "use_sliding_window": True}, "sssssss"),
        ({"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 9}, "fffffff"),
        ({"layer_types": ["attention"] * 9}, "fffffff"),
        ({"layer_types": ["sliding_attention"] * 7}, "fffffff"),
        ({"layers_block_type": ["sliding_attention"] * 7, "sliding_window": 8}, "sssssss"),
    ],
)
def test_what_layers_keep(changes: dict[str, Any], kinds_of_seven: str) -> None:
    model = read_architecture({**LEAST, "num_hidden_layers": 7, **changes})
    assert "".join(layer.kind[0] for layer in model.layers) == kinds_of_seven


def test_latent_attention() -> None:
    written = {"kv_lora_rank": 3, "qk_nope_head_dim": 5, "qk_rope_head_dim": 7, "v_head_dim": 11}
    mla = read_architecture({**LEAST, **written}).mla
    assert mla is not None
    assert mla.model_dump() == {
        "q_lora_rank": None,
        "kv_lora_rank": 3,
        "nope_head_dim": 5,
        "rope_head_dim": 7,
        "v_head_dim": 11,
    }
    compressed = read_architecture({**LEAST, **written, "q_lora_rank": 13}).mla
    assert compressed == mla.model_copy(update={"q_lora_rank": 13})
    assert read_architecture({**LEAST, "kv_lora_rank": 0}).mla is None


def test_a_delta_net() -> None:
    net = read_architecture({**LEAST, **DELTA_NET}).delta_net
    assert net is not None
    assert tuple(net.model_dump().values()) == (2, 3, 5, 7, 11, None)
    full = {**LEAST, **DELTA_NET, "layer_types": ["full_attention"] * 2}
    assert read_architecture(full).delta_net is None


@pytest.mark.parametrize(
    ("tower", "numbers"),
    [
        ({"depth": 3, "hidden_size": 8, "patch_size": 2}, (3, 8, 32, None, 12, 0, 1, 64)),
        ({"layers": 3, "width": 8, "spatial_patch_size": 2}, (3, 8, 32, None, 12, 0, 1, 64)),
        ({"num_hidden_layers": 3, "embed_dim": 8}, (3, 8, 32, None, 0, 0, 1, 64)),
        (
            {
                "depth": 3,
                "hidden_size": 8,
                "intermediate_size": 20,
                "num_heads": 4,
                "patch_size": 2,
                "temporal_patch_size": 5,
                "in_channels": 1,
                "num_position_embeddings": 7,
                "spatial_merge_size": 3,
                "out_hidden_size": 48,
            },
            (3, 8, 20, 4, 20, 7, 9, 48),
        ),
        (
            {"depth": 3, "hidden_size": 8, "patch_size": 2, "num_channels": 4}
            | {"num_attention_heads": 2},
            (3, 8, 32, 2, 16, 0, 1, 64),
        ),
    ],
)
def test_a_vision_tower(tower: dict[str, int], numbers: tuple[int | None, ...]) -> None:
    vision = read_architecture({**LEAST, "vision_config": tower}).vision
    assert vision is not None
    assert tuple(vision.model_dump().values()) == numbers


@pytest.mark.parametrize("missing", ["depth", "hidden_size"])
def test_a_tower_without_depth_or_width_is_left_out(missing: str) -> None:
    tower = {"depth": 3, "hidden_size": 8} | {missing: None}
    assert read_architecture({**LEAST, "vision_config": tower}).vision is None


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
