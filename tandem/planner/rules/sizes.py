"""Which tensor parallel sizes a model's heads and blocks allow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tandem.planner.rules.parts import split_parts
from tandem.planner.vllm.flags import Flags

if TYPE_CHECKING:
    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings

TENSOR = "tandem:serve.tensorParallel"

LARGEST = 1024
"""Largest size worth naming; nobody splits layers over more GPUs."""

_GROUPED = ("awq", "gptq", "awq-marlin", "gptq-marlin")

_DIVIDED_TOWERS = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5")
"""Model types whose vision heads have to split; others may pad or replicate them."""


def split_evenly(settings: Settings, model: Architecture) -> bool:
    """Tell whether attention heads split; when not, whatever else fails has the same remedy."""
    return model.heads % settings.serve.tensor_parallel == 0


def shares_evenly(kv_heads: int, tensor: int) -> bool:
    """Tell whether key and value heads split over ranks, or ranks over heads, without a rest."""
    return max(kv_heads, tensor) % min(kv_heads, tensor) == 0


def vision_heads(settings: Settings, model: Architecture) -> int | None:
    """Return the heads of a vision tower that is split over the ranks, else None.

    ``--mm-encoder-tp-mode data`` gives each rank the whole tower
    (``is_vit_use_data_parallel``, vllm/model_executor/models/vision.py, 0.32.0), and
    ``--language-model-only`` loads none.
    """
    flags = Flags(settings.serve.args)
    is_whole = flags.text("--mm-encoder-tp-mode") == "data"
    if model.vision is None or is_whole or flags.switch("--language-model-only"):
        return None
    return model.vision.heads


def needs_vision_split(model: Architecture) -> bool:
    """Tell whether vLLM's code for the model divides the vision heads by the ranks."""
    return model.name.startswith(_DIVIDED_TOWERS)


def head_sizes(settings: Settings, model: Architecture) -> list[int]:
    """Return the tensor parallel sizes over which every kind of head splits, from 1 up."""
    counts = [model.heads]
    if model.delta_net is not None:
        counts += [model.delta_net.key_heads, model.delta_net.value_heads]
    if needs_vision_split(model):
        counts.append(vision_heads(settings, model) or model.heads)
    return [
        size
        for size in range(1, min(model.heads, LARGEST) + 1)
        if all(count % size == 0 for count in counts)
        and (model.mla is not None or shares_evenly(model.kv_heads, size))
    ]


def legal_sizes(settings: Settings, model: Architecture) -> list[int]:
    """Return the sizes that neither heads nor blocks and groups of weights speak against."""
    parts = split_parts(settings, model)
    rows, columns = (model.quantization and model.quantization.block) or (1, 1)
    group = weight_group(model) or 1
    return [
        size
        for size in head_sizes(settings, model)
        if size == 1 or all(part.is_whole(size, rows, math.lcm(columns, group)) for part in parts)
    ]


def weight_group(model: Architecture) -> int | None:
    """Return the elements of an input that share a scale with AWQ or GPTQ, else None."""
    quantization = model.quantization
    if quantization is None or quantization.method not in _GROUPED:
        return None
    return quantization.group
