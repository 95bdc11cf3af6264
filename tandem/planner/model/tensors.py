"""Every weight of a model as rows and columns, from its architecture alone.

Shapes: the checkpoints of Llama 3.1, Qwen3, Qwen3-Next and Qwen3.5, DeepSeek-V3, MiniMax-M2 and
gpt-oss, and how vllm/model_executor/models (0.32.0) splits them. tests/unit/planner/test_weights.py
holds their published sizes, most of them exact to the byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from tandem.planner.model.layers import LayerKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.model.architecture import Architecture, DeltaNet, Experts, Mla, VisionTower

F32 = 4


class Split(Enum):
    """What tensor parallelism does to a tensor."""

    EVEN = auto()
    """Each rank has its share."""
    KV_HEADS = auto()
    """Each rank has its KV heads, and at least one."""
    VOCAB = auto()
    """Each rank has its share of the rows, padded to a multiple of 64."""
    NONE = auto()
    """Each rank has all of it."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One weight, or ``count`` alike."""

    module: str
    """Name of its module in the checkpoint, without the leading ``model.``."""
    rows: int
    columns: int = 1
    split: Split = Split.NONE
    is_linear: bool = False
    """Whether quantization may apply."""
    count: int = 1
    element_bytes: int | None = None
    """Bytes of an element where the checkpoint keeps it in another type than the model's."""


def layer_tensors(model: Architecture, index: int) -> Iterator[Tensor]:
    """Yield the weights of one decoder layer."""
    layer, name = model.layers[index], f"layers.{index}"
    yield from _norms(name, model.hidden, 2)
    if layer.kind is LayerKind.DELTA_NET and model.delta_net:
        yield from _delta_net(f"{name}.linear_attn", model, model.delta_net)
    else:
        yield from _attention(f"{name}.self_attn", model)
    yield from _feed_forward(f"{name}.mlp", model, has_experts=layer.has_experts)


def mtp_tensors(model: Architecture) -> Iterator[Tensor]:
    """Yield the weights for multi-token prediction, as far as vLLM loads them."""
    for index in range(model.mtp_layers):
        name = f"mtp.layers.{index}"
        yield from _norms(name, model.hidden, 5)
        yield Tensor("mtp.fc", model.hidden, 2 * model.hidden, Split.NONE)
        yield from _attention(f"{name}.self_attn", model)
        yield from _feed_forward(f"{name}.mlp", model, has_experts=model.experts is not None)


def embedding(model: Architecture) -> Tensor:
    """Return the input embedding."""
    return Tensor("embed_tokens", model.vocab, model.hidden, Split.VOCAB)


def output_layer(model: Architecture) -> Tensor:
    """Return the output layer, which has the shape of the embedding."""
    return Tensor("lm_head", model.vocab, model.hidden, Split.VOCAB)


def final_norm(model: Architecture) -> Tensor:
    """Return the norm before the output layer."""
    return Tensor("norm", model.hidden)


def vision_tensors(tower: VisionTower) -> Iterator[Tensor]:
    """Yield the weights of the vision tower (Qwen3-VL's; others are near it)."""
    width, merged = tower.hidden, tower.hidden * tower.merged
    yield from _biased("visual.patch_embed.proj", width, tower.patch_values, Split.NONE)
    yield Tensor("visual.pos_embed", tower.positions, width)
    for index in range(tower.depth):
        name = f"visual.blocks.{index}"
        yield from _norms(name, width, 4)  # two norms, each with a bias
        yield from _biased(f"{name}.attn.qkv", 3 * width, width)
        yield from _biased(f"{name}.attn.proj", width, width)
        yield from _biased(f"{name}.mlp.linear_fc1", tower.width, width)
        yield from _biased(f"{name}.mlp.linear_fc2", width, tower.width)
    yield from _norms("visual.merger.norm", width, 2)
    yield from _biased("visual.merger.linear_fc1", merged, merged)
    yield from _biased("visual.merger.linear_fc2", tower.out_hidden, merged)


def _norms(name: str, width: int, count: int) -> Iterator[Tensor]:
    yield Tensor(f"{name}.norms", width, count=count)


def _biased(name: str, rows: int, columns: int, split: Split = Split.EVEN) -> Iterator[Tensor]:
    yield Tensor(name, rows, columns, split, is_linear=True)
    yield Tensor(f"{name}.bias", rows, split=split)


def _attention(name: str, model: Architecture) -> Iterator[Tensor]:
    if model.mla:
        yield from _latent_attention(name, model, model.mla)
        return
    gate = 2 if model.has_output_gate else 1
    queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
    yield Tensor(f"{name}.q_proj", gate * queries, model.hidden, Split.EVEN, is_linear=True)
    for part in ("k_proj", "v_proj"):
        yield Tensor(f"{name}.{part}", keys, model.hidden, Split.KV_HEADS, is_linear=True)
    yield Tensor(f"{name}.o_proj", model.hidden, queries, Split.EVEN, is_linear=True)
    if model.has_attention_bias:
        yield Tensor(f"{name}.q_proj.bias", queries, split=Split.EVEN)
        yield Tensor(f"{name}.kv_proj.bias", keys, split=Split.KV_HEADS, count=2)
    if model.name == "gpt_oss":
        yield Tensor(f"{name}.o_proj.bias", model.hidden)
        yield Tensor(f"{name}.sinks", model.heads, split=Split.EVEN)
    elif model.name.startswith("minimax_m2"):
        yield Tensor(f"{name}.q_norm", queries, split=Split.EVEN)
        yield Tensor(f"{name}.k_norm", keys, split=Split.KV_HEADS)
    elif model.name.startswith("qwen3"):
        yield Tensor(f"{name}.qk_norms", model.head_dim, count=2)


def _latent_attention(name: str, model: Architecture, mla: Mla) -> Iterator[Tensor]:
    query = model.heads * (mla.nope_head_dim + mla.rope_head_dim)
    if mla.q_lora_rank:
        yield Tensor(f"{name}.q_a_proj", mla.q_lora_rank, model.hidden, is_linear=True)
        yield Tensor(f"{name}.q_a_layernorm", mla.q_lora_rank)
        yield Tensor(f"{name}.q_b_proj", query, mla.q_lora_rank, Split.EVEN, is_linear=True)
    else:
        yield Tensor(f"{name}.q_proj", query, model.hidden, Split.EVEN, is_linear=True)
    latent = mla.kv_lora_rank + mla.rope_head_dim
    yield Tensor(f"{name}.kv_a_proj_with_mqa", latent, model.hidden, is_linear=True)
    yield Tensor(f"{name}.kv_a_layernorm", mla.kv_lora_rank)
    expanded = model.heads * (mla.nope_head_dim + mla.v_head_dim)
    yield Tensor(f"{name}.kv_b_proj", expanded, mla.kv_lora_rank, Split.EVEN, is_linear=True)
    values = model.heads * mla.v_head_dim
    yield Tensor(f"{name}.o_proj", model.hidden, values, Split.EVEN, is_linear=True)


def _delta_net(name: str, model: Architecture, net: DeltaNet) -> Iterator[Tensor]:
    keys, values = net.key_heads * net.key_head_dim, net.value_heads * net.value_head_dim
    mixed = 2 * keys + values
    yield Tensor(f"{name}.in_proj_qkv", mixed, model.hidden, Split.EVEN, is_linear=True)
    yield Tensor(f"{name}.in_proj_z", values, model.hidden, Split.EVEN, is_linear=True)
    for part in ("in_proj_b", "in_proj_a"):
        # Narrower than a block of FP8, so checkpoints leave them in the model's type.
        yield Tensor(f"{name}.{part}", net.value_heads, model.hidden, Split.EVEN)
    yield Tensor(f"{name}.conv1d", mixed, net.conv_kernel, Split.EVEN)
    yield Tensor(f"{name}.dt_bias", net.value_heads, split=Split.EVEN)
    yield Tensor(f"{name}.A_log", net.value_heads, split=Split.EVEN, element_bytes=F32)
    yield Tensor(f"{name}.norm", net.value_head_dim, element_bytes=F32)
    yield Tensor(f"{name}.out_proj", model.hidden, values, Split.EVEN, is_linear=True)


def _feed_forward(name: str, model: Architecture, *, has_experts: bool) -> Iterator[Tensor]:
    if has_experts and model.experts:
        yield from _experts(name, model, model.experts)
    elif model.dense_width:
        yield from _gated(name, model.hidden, model.dense_width)


def _gated(name: str, hidden: int, width: int, count: int = 1) -> Iterator[Tensor]:
    for part in ("gate_proj", "up_proj"):
        yield Tensor(f"{name}.{part}", width, hidden, Split.EVEN, is_linear=True, count=count)
    yield Tensor(f"{name}.down_proj", hidden, width, Split.EVEN, is_linear=True, count=count)


def _experts(name: str, model: Architecture, experts: Experts) -> Iterator[Tensor]:
    yield from _gated(f"{name}.experts", model.hidden, experts.width, experts.count)
    if model.name.startswith("minimax_m2"):
        yield Tensor(f"{name}.gate", experts.count, model.hidden, element_bytes=F32)
    else:
        yield Tensor(f"{name}.gate", experts.count, model.hidden)
    if model.name == "gpt_oss":
        yield Tensor(f"{name}.router.bias", experts.count)
        yield Tensor(
            f"{name}.experts.bias", 2 * experts.width, split=Split.EVEN, count=experts.count
        )
        yield Tensor(f"{name}.experts.down_bias", model.hidden, count=experts.count)
    elif model.mla or model.name.startswith(("minimax_m2", "glm4_moe")):
        yield Tensor(f"{name}.gate.bias", experts.count, element_bytes=F32)
    if experts.shared_width:
        yield from _gated(f"{name}.shared_expert", model.hidden, experts.shared_width)
        if model.name.startswith(("qwen2_moe", "qwen3_next", "qwen3_5")):
            yield Tensor(f"{name}.shared_expert_gate", model.hidden)
