"""What the planner does not know of a deployment, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.memory.result import BudgetOrigin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tandem.planner.memory.hosts import HostMemory
    from tandem.planner.memory.result import RankFit
    from tandem.planner.model.architecture import Architecture
    from tandem.planner.specs import Rank
    from tandem.planner.vllm.engine import EngineOptions


def cache_gap(model: Architecture, options: EngineOptions) -> str | None:
    """Return why the KV cache is not modelled, or None."""
    if model.not_modelled:
        return model.not_modelled
    if options.kv_value_bytes is None:
        return f"a KV cache of type {options.kv_type}"
    if options.draft_model:
        return f"the weights and caches of a draft model ({options.draft_model})"
    if model.is_hybrid and not options.saves_windows:
        return "delta nets without the hybrid KV cache manager"
    if options.pipeline_parallel > len(model.layers):
        return f"{options.pipeline_parallel} stages of {len(model.layers)} layers"
    if options.not_modelled:
        return f"what {' and '.join(options.not_modelled)} changes"
    if options.max_model_len is None:
        return "how long a request may be: set serve.maxModelLen"
    return None


def deployment_gap(
    ranks: Sequence[Rank],
    fits: Sequence[RankFit],
    world_size: int,
    memory: Mapping[str, HostMemory],
) -> str | None:
    """Return what of hosts and weights is not known, or None."""
    absent = sorted({rank.host for rank in ranks} - set(memory))
    if absent:
        return f"the memory of {', '.join(absent)}: set hosts[].memory"
    if len(fits) < world_size:
        return f"where {world_size - len(fits)} of {world_size} ranks are to run"
    if any(
        rank.weights_bytes is None and rank.kv_budget_from is BudgetOrigin.WEIGHED for rank in fits
    ):
        return "how the weights are stored: set model.weights"
    return None
