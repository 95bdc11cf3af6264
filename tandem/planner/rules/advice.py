"""What to write instead of a tensor parallel size that the model does not allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.memory.stages import split_layers
from tandem.planner.rules.sizes import legal_sizes

if TYPE_CHECKING:
    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings

_MOST_STAGES_SHOWN = 8


def suggestion(settings: Settings, model: Architecture) -> str:
    """Return in words the legal sizes, one for as many ranks, and one for fewer."""
    sizes = legal_sizes(settings, model)
    world = settings.world_size
    ways = [f"set tensorParallel to {_listed(sizes)}"]
    fitting = [size for size in sizes if world % size == 0 and world // size <= len(model.layers)]
    if fitting:
        ways.append(_staged(model, fitting[-1], world // fitting[-1]))
    fewer = [size for size in sizes if 1 < size < settings.serve.tensor_parallel]
    if fewer and fewer[-1] not in fitting:
        ways.append(f"tensorParallel {fewer[-1]} on {fewer[-1]} of the {world} {_unit(settings)}")
    return ", or ".join(ways)


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
