"""The matrices of a model whose width is split over tensor parallel ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tandem.planner.vllm.flags import Flags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings


@dataclass(frozen=True)
class Part:
    """Matrices that share one width."""

    name: str
    width: int
    """Whole width, in elements."""
    module: str
    """One of the matrices as checkpoints name it, below ``layers.N``."""
    is_routed: bool = False
    """Whether expert parallelism leaves it whole."""
    is_input: bool = True
    """Whether a matrix is split along its input too, as the last one of a block is."""
    is_merged: bool = False
    """Whether vLLM keeps it in one matrix with others, so that newer versions tolerate a rest."""
    most_shares: int | None = None
    """Ranks beyond which shares are copied; None when each rank has its own."""

    def shares(self, tensor: int) -> int:
        """Return into how many different shares so many ranks split the width."""
        return min(tensor, self.most_shares or tensor)

    def is_whole(self, tensor: int, rows: int, columns: int) -> bool:
        """Tell whether each rank's share is a whole number of blocks of so many elements."""
        share, rest = divmod(self.width, self.shares(tensor))
        return rest == 0 and share % rows == 0 and (share % columns == 0 or not self.is_input)


def split_parts(settings: Settings, model: Architecture) -> list[Part]:
    """Return the quantized parts of which each rank gets a share.

    With expert parallelism each rank has whole routed experts.
    """
    has_whole_experts = Flags(settings.serve.args).switch("--enable-expert-parallel")
    return [
        part
        for part in (*_feed_forward(model), *_attention(model))
        if not (part.is_routed and has_whole_experts) and _is_quantized(model, part)
    ]


def _feed_forward(model: Architecture) -> Iterator[Part]:
    if experts := model.experts:
        name = "mlp.experts.0.up_proj"
        yield Part("the routed experts", experts.width, name, is_routed=True)
        if experts.shared_width:
            yield Part("the shared expert", experts.shared_width, "mlp.shared_expert.up_proj")
    if model.dense_width:
        yield Part("the dense layers", model.dense_width, "mlp.up_proj")


def _attention(model: Architecture) -> Iterator[Part]:
    """Yield projections; those of MLA's compressed vectors are whole on each rank."""
    if mla := model.mla:
        queries = model.heads * (mla.nope_head_dim + mla.rope_head_dim)
        expanded = model.heads * (mla.nope_head_dim + mla.v_head_dim)
        yield Part("MLA's queries", queries, "self_attn.q_b_proj", is_input=False)
        yield Part("MLA's keys and values", expanded, "self_attn.kv_b_proj", is_input=False)
        yield Part("attention", model.heads * mla.v_head_dim, "self_attn.o_proj")
    else:
        yield Part("attention", model.heads * model.head_dim, "self_attn.o_proj")
        yield Part(
            "keys and values",
            model.kv_heads * model.head_dim,
            "self_attn.k_proj",
            is_input=False,
            is_merged=True,
            most_shares=model.kv_heads,
        )
    if net := model.delta_net:
        keys, values = net.key_heads * net.key_head_dim, net.value_heads * net.value_head_dim
        name = "linear_attn.in_proj_qkvz"
        yield Part("linear attention's keys", keys, name, is_input=False, is_merged=True)
        yield Part("linear attention", values, "linear_attn.out_proj")


def _is_quantized(model: Architecture, part: Part) -> bool:
    """Tell whether some layer has the part in blocks; a name may be spelt in the plural."""
    if model.quantization is None:
        return False
    names = {part.module, part.module.replace("shared_expert.", "shared_experts.")}
    layers = range(len(model.layers))
    return not any(
        all(model.quantization.leaves_out(f"layers.{layer}.{name}") for layer in layers)
        for name in names
    )
