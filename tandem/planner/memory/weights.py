"""Bytes of weights in a checkpoint, and on each rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.model.tensors import (
    Split,
    Tensor,
    embedding,
    final_norm,
    layer_tensors,
    mtp_tensors,
    output_layer,
    vision_tensors,
)
from tandem.planner.specs import SpecModel
from tandem.units import divide_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.model.architecture import Architecture
    from tandem.planner.model.quantization import Quantization

VOCAB_PADDING = 64
"""``DEFAULT_VOCAB_PADDING_SIZE``, vllm/model_executor/layers/vocab_parallel_embedding.py."""

TYPE_BYTES = {"float32": 4, "float": 4, "bfloat16": 2, "float16": 2, "half": 2}


class Weights(SpecModel):
    """The size of a model's weights, all files together."""

    total_bytes: int
    origin: str
    """Where the size comes from, e.g. ``declared`` or ``safetensors headers``."""
    is_exact: bool
    """Whether somebody counted the files, as against shapes multiplied."""


class Placement(SpecModel):
    """Which weights go to which rank."""

    tensor_parallel: int
    stages: tuple[tuple[int, int], ...]
    """First layer of each pipeline stage, and the one after its last."""
    loads_mtp: bool = False
    loads_vision: bool = True
    splits_vision: bool = True
    """False with ``--mm-encoder-tp-mode data``: each rank has the whole tower then."""


def declared_weights(total_bytes: int, origin: str) -> Weights:
    """Return a size that somebody counted."""
    return Weights(total_bytes=total_bytes, origin=origin, is_exact=True)


def computed_weights(model: Architecture) -> Weights | None:
    """Return the size of the whole checkpoint, or None when how it is stored is not known.

    Layers for multi-token prediction and the vision tower are part of it. Exact to the byte for
    most families that tests/unit/planner/test_weights.py lists.
    """
    if model.quantization and model.quantization.bits is None:
        return None
    total = sum(stored_bytes(tensor, model) for tensor in _checkpoint(model))
    return Weights(total_bytes=total, origin="computed from shapes", is_exact=False)


def rank_weights(model: Architecture, weights: Weights, placement: Placement) -> list[int]:
    """Return the bytes on one rank of each stage; the ranks of a stage are alike.

    A size that was counted is shared out in the proportions that the shapes give.
    """
    scale = weights.total_bytes / sum(stored_bytes(tensor, model) for tensor in _checkpoint(model))
    last = len(placement.stages) - 1
    return [
        round(
            scale
            * sum(
                _rank_bytes(tensor, model, placement)
                for tensor in _stage(model, placement, stage, is_last=stage == last)
            )
        )
        for stage in range(len(placement.stages))
    ]


def stored_bytes(tensor: Tensor, model: Architecture) -> int:
    """Return the bytes of a tensor in the checkpoint, scales included."""
    quantization = model.quantization
    elements = tensor.rows * tensor.columns
    if (
        quantization is None
        or quantization.bits is None
        or not tensor.is_linear
        or quantization.leaves_out(tensor.module)
        or (tensor.module.startswith(("visual.", "mtp.")) and quantization.bits < 8)
    ):
        size = tensor.element_bytes or TYPE_BYTES.get(model.dtype, 2)
        return tensor.count * elements * size
    scales = _scale_bytes(tensor, model, quantization)
    return tensor.count * (elements * quantization.bits // 8 + scales)


def _scale_bytes(tensor: Tensor, model: Architecture, quantization: Quantization) -> int:
    if quantization.block:
        rows, columns = quantization.block
        # Qwen stores the scales as BF16, DeepSeek and MiniMax as F32.
        size = 2 if model.name.startswith("qwen") else 4
        return divide_up(tensor.rows, rows) * divide_up(tensor.columns, columns) * size
    if quantization.bits == 4 and quantization.group:
        groups = tensor.rows * divide_up(tensor.columns, quantization.group)
        if quantization.method in {"mxfp4", "modelopt", "modelopt-fp4"}:
            return groups + (8 if quantization.group == 16 else 0)  # NVFP4 has two more, F32
        return groups * 2 + (groups // 2 if quantization.has_zeros else 0)
    return 2 * tensor.rows


def _rank_bytes(tensor: Tensor, model: Architecture, placement: Placement) -> float:
    ranks, stored = placement.tensor_parallel, stored_bytes(tensor, model)
    is_vision = tensor.module.startswith("visual.")
    if tensor.split is Split.NONE or (is_vision and not placement.splits_vision):
        return stored
    if tensor.split is Split.KV_HEADS:
        return stored * max(1, model.kv_heads // ranks) / model.kv_heads
    if tensor.split is Split.VOCAB:
        padded = divide_up(tensor.rows, VOCAB_PADDING) * VOCAB_PADDING
        return stored * padded / tensor.rows / ranks
    return stored / ranks


def _checkpoint(model: Architecture) -> Iterator[Tensor]:
    for index in range(len(model.layers)):
        yield from layer_tensors(model, index)
    yield embedding(model)
    yield final_norm(model)
    if not model.tied_embeddings:
        yield output_layer(model)
    yield from mtp_tensors(model)
    if model.mla and model.mtp_layers:  # DeepSeek's files hold copies for the draft layers
        yield embedding(model)
        yield output_layer(model)
    if model.vision:
        yield from vision_tensors(model.vision)


def _stage(
    model: Architecture, placement: Placement, stage: int, *, is_last: bool
) -> Iterable[Tensor]:
    """Yield what one stage loads; every stage has the vision tower (qwen3_vl.py, 0.19.1)."""
    for index in range(*placement.stages[stage]):
        yield from layer_tensors(model, index)
    if stage == 0:
        yield embedding(model)
    if is_last:
        yield final_norm(model)
        if not (model.tied_embeddings and stage == 0):
            yield output_layer(model)
        if placement.loads_mtp:
            yield from mtp_tensors(model)
            if stage > 0:  # the draft layers can't reach the first stage's embedding
                yield embedding(model)
    if model.vision and placement.loads_vision:
        yield from vision_tensors(model.vision)
