"""Blocks and groups of quantized weights against the width that each rank gets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.planner.flags import Flags
from tandem.planner.releases import declared_version, spoken
from tandem.planner.rules.sizes import TENSOR, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tandem.planner.architecture import Architecture
    from tandem.settings import Settings

REFINES_BLOCKS = (0, 29)
"""First release that splits a block of the experts' scales (``refine_fp8_moe_block_shape``,
vllm/model_executor/layers/fused_moe/oracle/fp8.py; absent in 0.28.0)."""

SMALLEST_REFINED_BLOCK = 32

_GROUPED = ("awq", "gptq", "awq-marlin", "gptq-marlin")


@dataclass(frozen=True)
class _Part:
    """A group of matrices whose inner width is split over the ranks."""

    name: str
    width: int
    """Whole width, in elements."""
    module: str
    """A module of it as checkpoints name it, below ``layers.N``."""
    is_routed: bool = False

    def shard(self, tensor: int) -> float:
        return self.width / tensor


def fp8_blocks(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """The width of each rank is a whole number of FP8 blocks.

    Sources: ``Fp8MoEMethod.create_weights``, vllm/model_executor/layers/quantization/fp8.py, and
    ``validate_fp8_block_shape``, utils/fp8_utils.py there, 0.11.2 to 0.32.0 (vllm#25292,
    vllm PR#48173, sglang#10852, sglang#3345).
    """
    tensor = settings.serve.tensor_parallel
    block = model.quantization.block if model.quantization else None
    if block is None or not _heads_split(settings, model):
        return
    for part in _quantized_parts(settings, model):
        if _is_whole(part, tensor, *block):
            continue
        tell, note = _weight_of_block(settings, part, _refined_block(part, tensor, block, model))
        yield tell(
            "fp8-block-not-divisible",
            TENSOR,
            f"{_split_in_words(part, tensor)}, which is not divisible by the FP8 block of "
            f"{block[0]}x{block[1]}{note}",
            _fix(settings, model, part, block),
        )


def _weight_of_block(
    settings: Settings, part: _Part, refined: int
) -> tuple[Callable[[str, str, str, str], Finding], str]:
    """Return how to tell of a block that is cut, and a note on what the version makes of it."""
    version = declared_version(settings)
    if part.is_routed and refined and version is None:
        note = f" (an error before vLLM {spoken(REFINES_BLOCKS)}; set image.vllm to know)"
        return warning, note
    if part.is_routed and refined and version is not None and version >= REFINES_BLOCKS:
        words = f"vLLM {spoken(version)} refines the blocks to {refined} for kernels that take it"
        return warning, f" ({words})"
    return error, ""


def weight_groups(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """The width of each rank is a whole number of groups of AWQ and GPTQ.

    Sources: ``create_weights`` of awq.py and gptq.py (0.11.2, 0.19.1), auto_awq.py (0.32.0) in
    vllm/model_executor/layers/quantization, and ``check_moe_marlin_supports_layer`` of
    utils/marlin_utils.py there: routed experts fall back to a slower kernel instead.
    """
    tensor, quantization = settings.serve.tensor_parallel, model.quantization
    if quantization is None or quantization.group is None or not _heads_split(settings, model):
        return
    if quantization.method not in _GROUPED:
        return
    block = (quantization.group, quantization.group)
    for part in _quantized_parts(settings, model):
        if _is_whole(part, tensor, *block):
            continue
        note = "; vLLM takes a slower kernel for these experts" if part.is_routed else ""
        tell = warning if part.is_routed else error
        yield tell(
            "weight-group-not-divisible",
            TENSOR,
            f"{_split_in_words(part, tensor)}, which is not divisible by the group size of "
            f"{quantization.group}{note}",
            _fix(settings, model, part, block),
        )


def _parts(model: Architecture) -> Iterator[_Part]:
    if model.experts is not None:
        yield _Part(
            "the routed experts", model.experts.width, "mlp.experts.0.up_proj", is_routed=True
        )
        if model.experts.shared_width:
            name = "mlp.shared_expert.up_proj"
            yield _Part("the shared expert", model.experts.shared_width, name)
    if model.dense_width:
        yield _Part("the dense layers", model.dense_width, "mlp.up_proj")
    value_dim = model.mla.v_head_dim if model.mla else model.head_dim
    yield _Part("attention", model.heads * value_dim, "self_attn.o_proj")
    if net := model.delta_net:
        width = net.value_heads * net.value_head_dim
        yield _Part("linear attention", width, "linear_attn.out_proj")


def _quantized_parts(settings: Settings, model: Architecture) -> list[_Part]:
    """Return the parts that are split and quantized; expert parallelism leaves experts whole."""
    has_whole_experts = Flags(settings.serve.args).switch("--enable-expert-parallel")
    return [
        part
        for part in _parts(model)
        if settings.serve.tensor_parallel > 1
        and not (part.is_routed and has_whole_experts)
        and _is_quantized(model, part)
    ]


def _is_quantized(model: Architecture, part: _Part) -> bool:
    left_out = model.quantization.leaves_out if model.quantization else lambda _: True
    names = {part.module, part.module.replace("shared_expert.", "shared_experts.")}
    return not any(
        all(left_out(f"layers.{index}.{name}") for index in range(len(model.layers)))
        for name in names
    )


def _is_whole(part: _Part, tensor: int, rows: int, columns: int) -> bool:
    shard, rest = divmod(part.width, tensor)
    return rest == 0 and shard % rows == 0 and shard % columns == 0


def _refined_block(part: _Part, tensor: int, block: tuple[int, int], model: Architecture) -> int:
    """Return the block that vLLM refines to, 0 when it can't."""
    shard, rest = divmod(part.width, tensor)
    refined = math.gcd(*block, shard, model.hidden)
    return refined if rest == 0 and refined >= SMALLEST_REFINED_BLOCK else 0


def _split_in_words(part: _Part, tensor: int) -> str:
    return f"width {part.width} of {part.name} / tensorParallel {tensor} = {part.shard(tensor):g}"


def _fix(settings: Settings, model: Architecture, part: _Part, block: tuple[int, int]) -> str:
    parts = _quantized_parts(settings, model)

    def is_legal(size: int) -> bool:
        return size == 1 or all(_is_whole(each, size, *block) for each in parts)

    text = suggestion(settings, model, is_legal)
    if part.is_routed:
        has_shared = model.experts is not None and model.experts.shared_width > 0
        rest = " (the shared expert is split all the same)" if has_shared else ""
        text += f", or add --enable-expert-parallel to serve.args{rest}"
    return text


def _heads_split(settings: Settings, model: Architecture) -> bool:
    return model.heads % settings.serve.tensor_parallel == 0
