"""Pipeline stages against the model's layers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tandem.findings import Finding, error
from tandem.planner.backends import backend_of
from tandem.planner.masking import shown
from tandem.planner.memory.stages import split_layers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings

PARTITION = "VLLM_PP_LAYER_PARTITION"
"""The variable that gives the layers of each stage, e.g. ``16,32``."""

_MANY = 16
"""Stages above which an example would be too long to read."""


def stages(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """No stage is without a layer."""
    pipeline, layers = settings.serve.pipeline_parallel, len(model.layers)
    if pipeline > layers:
        yield error(
            "stages-without-layers",
            "tandem:serve.pipelineParallel",
            f"{pipeline} pipeline stages for {layers} layers leave some stages empty",
            f"set pipelineParallel to {layers} or less",
        )


def partition(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """VLLM_PP_LAYER_PARTITION has a number for each stage, and they add up to the layers.

    Source: ``get_pp_indices``, vllm/distributed/utils.py, 0.11.2 to 0.32.0, which reads it with
    one stage too.
    """
    pipeline, layers = settings.serve.pipeline_parallel, len(model.layers)
    if pipeline > layers:
        return
    fix = f"write {pipeline} numbers with the sum {layers}" if pipeline > 1 else "remove it"
    if 1 < pipeline <= _MANY:
        fix += f", e.g. {','.join(map(str, split_layers(layers, pipeline)))}"
    for path, text in _declared(settings):
        numbers = _numbers(text)
        if numbers is None:
            yield error(
                "partition-unreadable",
                path,
                f'"{shown(text)}" is not a list of whole numbers',
                fix,
            )
        elif len(numbers) != pipeline:
            yield error(
                "partition-wrong-count",
                path,
                f"{shown(text)} names {len(numbers)} stages, pipelineParallel is {pipeline}",
                fix,
            )
        elif sum(numbers) != layers:
            yield error(
                "partition-wrong-sum",
                path,
                f"{shown(text)} adds up to {sum(numbers)} layers, the model has {layers}",
                fix,
            )


def one_partition(settings: Settings) -> Iterator[Finding]:
    """Every host knows the same partition.

    A variable in ``hosts[].env`` is that host's alone, so each rank would cut the layers in its
    own way.
    """
    found = backend_of(settings).known_by(PARTITION)
    if settings.serve.pipeline_parallel > 1 and len(set(found.values())) > 1:
        told = ", ".join(f"{host}: {shown(text or 'none')}" for host, text in found.items())
        yield error(
            "partition-differs",
            _declared(settings)[0][0],
            f"{PARTITION} is not the same on every host ({told})",
            "write it once, in tandem:serve.env",
        )


def _numbers(text: str) -> list[int] | None:
    words = [word.strip() for word in text.split(",")]
    if not all(re.fullmatch(r"[0-9]{1,5}", word) for word in words):
        return None
    return [int(word) for word in words]


def _declared(settings: Settings) -> list[tuple[str, str]]:
    """Return place in the stack file and text of every VLLM_PP_LAYER_PARTITION."""
    places = {"tandem:serve.env": settings.serve.env}
    places |= {f"tandem:hosts[{index}].env": host.env for index, host in enumerate(settings.hosts)}
    return [
        (f"{place}.{PARTITION}", env[PARTITION])
        for place, env in places.items()
        if PARTITION in env
    ]
