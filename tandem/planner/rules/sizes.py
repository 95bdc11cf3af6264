"""Tensor parallel sizes that a model allows, for the fix of a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.flags import Flags
from tandem.planner.stages import split_layers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tandem.planner.architecture import Architecture
    from tandem.settings import Settings

TENSOR = "tandem:serve.tensorParallel"

LARGEST = 1024
"""Largest size worth naming; nobody splits layers over more GPUs."""

_DIVIDED_TOWERS = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5")
"""Model types whose vision heads have to split; others may pad or replicate them."""


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


def suggestion(
    settings: Settings, model: Architecture, is_legal: Callable[[int], bool] = lambda _: True
) -> str:
    """Return in words what to write instead of the declared tensor parallel size.

    ``is_legal`` narrows the sizes that the heads allow.
    """
    sizes = [size for size in head_sizes(settings, model) if is_legal(size)]
    ways = [f"set tensorParallel to {_listed(sizes)}"] if sizes else []
    world = settings.world_size
    fitting = [size for size in sizes if world % size == 0 and world // size <= len(model.layers)]
    if fitting:
        ways.append(_staged(model, fitting[-1], world // fitting[-1]))
    fewer = [size for size in sizes if size < settings.serve.tensor_parallel]
    if fewer and fewer[-1] > 1 and fewer[-1] not in fitting:
        ways.append(f"tensorParallel {fewer[-1]} on {fewer[-1]} of the {world} {_unit(settings)}")
    return ", or ".join(ways) or "use pipelineParallel instead of tensorParallel"


def _staged(model: Architecture, tensor: int, pipeline: int) -> str:
    text = f"tensorParallel {tensor} with pipelineParallel {pipeline}"
    if pipeline == 1:
        return text
    layers = split_layers(len(model.layers), pipeline)
    return f"{text} (layers {'/'.join(map(str, layers))})" if pipeline <= 8 else text


def _unit(settings: Settings) -> str:
    return "hosts" if all(host.gpu_count == 1 for host in settings.hosts) else "GPUs"


def _listed(sizes: list[int]) -> str:
    words = [str(size) for size in sizes]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
