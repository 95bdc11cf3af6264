"""Does it fit: weights, reserve and KV cache of every rank against its memory."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tandem.planner.memory.findings import fit_findings, version_unknown
from tandem.planner.memory.gaps import cache_gap, deployment_gap
from tandem.planner.memory.kv_cache import KvCache
from tandem.planner.memory.reserve import CONTEXT, RankShare, reserve
from tandem.planner.memory.result import BudgetOrigin, Fit, KvFit, RankFit
from tandem.planner.memory.stages import stage_layers
from tandem.planner.memory.verdict import requests, verdict
from tandem.planner.memory.weights import Placement, Weights, computed_weights, rank_weights
from tandem.planner.vllm.engine import EngineOptions, engine_options
from tandem.planner.vllm.versions import NEWEST, OLDEST, Version
from tandem.units import GIB

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tandem.planner.memory.hosts import HostMemory, Measured
    from tandem.planner.model.architecture import Architecture
    from tandem.planner.specs import Rank
    from tandem.settings import Settings

CPU_BUDGET = "VLLM_CPU_KVCACHE_SPACE"
"""On CPUs this variable is the size of the KV cache, in GiB."""


def fit(
    settings: Settings,
    ranks: tuple[Rank, ...],
    architecture: Architecture,
    weights: Weights | None,
    memory: Mapping[str, HostMemory],
    measured: Measured | None = None,
) -> Fit:
    """Weigh a deployment against its hosts' memory.

    ``weights`` is a size that somebody counted; without it the shapes are multiplied. ``memory``
    is by host name. ``measured`` takes the place of what is assumed. Nothing is raised: what is
    not known is said in ``not_modelled``, and the verdict is UNKNOWN then unless the rest refuses.
    """
    heads = [memory[host.name] for host in settings.hosts if host.name in memory]
    counted = weights or computed_weights(architecture)

    def weigh(supposed: Version) -> Fit:
        options = engine_options(settings, architecture, heads, supposed)
        return _weigh(settings, ranks, architecture, counted, memory, measured, options)

    result = weigh(NEWEST)
    findings = fit_findings(result, settings, architecture, memory)
    if not result.options.is_version_known:
        findings += version_unknown(result, weigh(OLDEST))
    return result.model_copy(update={"findings": tuple(findings)})


def _weigh(
    settings: Settings,
    ranks: tuple[Rank, ...],
    architecture: Architecture,
    counted: Weights | None,
    memory: Mapping[str, HostMemory],
    measured: Measured | None,
    options: EngineOptions,
) -> Fit:
    """Return the fit with these options, its findings left out."""
    layers = len(architecture.layers)
    # More stages than layers can't be; the gap says so.
    stages = stage_layers(layers, min(options.pipeline_parallel, layers), options.layer_partition)
    deployment = _Deployment(
        settings,
        architecture,
        options,
        memory,
        measured,
        stages,
        _weights_on_stages(architecture, counted, options, stages, measured),
    )
    unknown_cache = cache_gap(architecture, options)
    cache = None if unknown_cache else KvCache(architecture, options, deployment.stages)
    fits = tuple(
        deployment.rank_fit(rank, cache)
        for rank in ranks
        if rank.host in memory and rank.stage < len(deployment.stages)
    )
    unknown = unknown_cache or deployment_gap(ranks, fits, settings.world_size, memory)
    kv = kv_most = None
    if cache and not unknown:
        kv = deployment.kv_fit(cache, fits, most=False)
        kv_most = deployment.kv_fit(cache, fits, most=True)
    blocks = requests(architecture, options, kv, kv_most)
    return Fit(
        verdict=verdict(fits, memory, blocks, is_known=unknown is None),
        not_modelled=unknown,
        weights=counted,
        measured=measured.origin if measured else None,
        options=options,
        ranks=fits,
        kv=kv,
        kv_most=kv_most,
        smallest_utilization=_smallest_utilization(fits, options, memory),
        findings=(),
    )


@dataclass(frozen=True)
class _Deployment:
    """Everything that a rank's memory depends on."""

    settings: Settings
    model: Architecture
    options: EngineOptions
    memory: Mapping[str, HostMemory]
    measured: Measured | None
    stages: tuple[tuple[int, int], ...]
    weights: Sequence[int] | None
    """Bytes on a rank of each stage, or None when not known."""

    def rank_fit(self, rank: Rank, cache: KvCache | None) -> RankFit:
        """Return one rank's memory."""
        memory = self.memory[rank.host]
        start, end = self.stages[rank.stage]
        weights = self.weights[rank.stage] if self.weights else None
        share = RankShare(
            weights_bytes=weights or 0,
            layers=end - start,
            is_last_stage=rank.stage == len(self.stages) - 1,
        )
        spans_hosts = self.settings.spans_hosts
        held = reserve(self.model, self.options, memory, share, spans_hosts=spans_hosts)
        requested = memory.requested(self.options.utilization)
        length = self.options.max_model_len or 0
        origin, budget = self._known_budget(rank.host, requested)
        left = requested - (weights or 0)
        if budget is not None and self.measured and origin is BudgetOrigin.LOGGED:
            held = held.as_logged(max(0, left - budget), self.measured.origin)
        return RankFit(
            rank=rank.rank,
            host=rank.host,
            stage=rank.stage,
            total_bytes=memory.total,
            requested_bytes=requested,
            weights_bytes=weights,
            reserve=held,
            kv_budget_from=origin,
            kv_budget_low=left - held.high if budget is None else budget,
            kv_budget_high=left - held.low if budget is None else budget,
            kv_needed_bytes=cache.needed_bytes(rank.stage, length) if cache else None,
            kv_required_bytes=cache.required_budget(rank.stage, length) if cache else None,
        )

    def kv_fit(self, cache: KvCache, ranks: tuple[RankFit, ...], *, most: bool) -> KvFit:
        """Return what the KV cache holds with the low budgets, or with ``most`` the high ones."""
        budgets = [
            min(
                rank.kv_budget_high if most else rank.kv_budget_low
                for rank in ranks
                if rank.stage == stage
            )
            for stage in range(len(self.stages))
        ]
        length = self.options.max_model_len or 1
        blocks = cache.num_blocks(budgets)
        limit = max(length, self.model.longest_request or 0)
        return KvFit(
            block_size=cache.layout.block_size,
            num_blocks=blocks,
            tokens=cache.tokens(blocks, length),
            max_concurrency=cache.concurrency(blocks, length),
            needed_bytes=max(cache.needed_bytes(rank.stage, length) for rank in ranks),
            largest_max_model_len=cache.largest_length(budgets, limit),
        )

    def _known_budget(self, host: str, requested: int) -> tuple[BudgetOrigin, int | None]:
        """Return a budget for which nothing has to be assumed, or None."""
        measured = self.measured
        if self.options.kv_cache_memory is not None:
            return BudgetOrigin.SET, self.options.kv_cache_memory
        if self.memory[host].is_cpu:
            server = self.settings.first_host.env | self.settings.serve.env
            space = server.get(CPU_BUDGET, "")
            if space.isascii() and space.isdigit() and 0 < len(space) < 6:
                return BudgetOrigin.SET, int(space) * GIB
        if measured and measured.kv_budget_bytes is not None:
            return BudgetOrigin.LOGGED, measured.kv_budget_bytes
        if measured and measured.non_kv_bytes is not None:
            return BudgetOrigin.LOGGED, requested - measured.non_kv_bytes
        return BudgetOrigin.WEIGHED, None


def _weights_on_stages(
    model: Architecture,
    weights: Weights | None,
    options: EngineOptions,
    stages: tuple[tuple[int, int], ...],
    measured: Measured | None,
) -> list[int] | None:
    if measured and measured.weights_bytes is not None and len(stages) == 1:
        return [measured.weights_bytes]
    if weights is None or options.changes_weights:
        return None
    placement = Placement(
        tensor_parallel=options.tensor_parallel,
        stages=stages,
        loads_mtp=options.loads_mtp,
        loads_vision=options.loads_vision,
        splits_vision=options.splits_vision,
    )
    return rank_weights(model, weights, placement)


def _smallest_utilization(
    ranks: tuple[RankFit, ...], options: EngineOptions, memory: Mapping[str, HostMemory]
) -> float | None:
    """Return the least utilization, in hundredths, that surely serves one request on every rank.

    None when no legal one does, or when the utilization does not count.
    """
    if not ranks or options.kv_cache_memory is not None:
        return None
    hundredths = 1
    for rank in ranks:
        held = rank.requested_bytes - rank.kv_budget_low
        need = 100 * (held + (rank.kv_required_bytes or 0)) / memory[rank.host].total
        hundredths = max(hundredths, math.ceil(need))
    for rank in ranks:
        host = memory[rank.host]
        # CUDA's context is there before vLLM looks at what is free.
        if host.requested(hundredths / 100) > host.available - CONTEXT:
            return None
    return hundredths / 100
