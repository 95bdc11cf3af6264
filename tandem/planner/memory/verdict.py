"""From a rank's numbers to fits, tight or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.memory.result import BudgetOrigin, KvFit, RankFit, Verdict
from tandem.planner.vllm.versions import SEQS_BOUND_BY_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tandem.planner.memory.hosts import HostMemory
    from tandem.planner.model.architecture import Architecture
    from tandem.planner.vllm.engine import EngineOptions


def verdict(
    ranks: Sequence[RankFit], memory: Mapping[str, HostMemory], blocks: Verdict, *, is_known: bool
) -> Verdict:
    """Return the worst of all checks; what is not known can hide no refusal."""
    found = {blocks}
    for rank in ranks:
        found |= {start(rank, memory[rank.host]), budget(rank), space(rank, memory[rank.host])}
    if Verdict.REFUSED in found:
        return Verdict.REFUSED
    if not is_known:
        return Verdict.UNKNOWN
    return Verdict.TIGHT if Verdict.TIGHT in found else Verdict.FITS


def start(rank: RankFit, memory: HostMemory) -> Verdict:
    """Weigh what is free against what vLLM asks for.

    vLLM refuses to start when less is free than that (``request_memory``, vllm/v1/worker/utils.py,
    0.19.1); it looks after CUDA's context and NCCL's groups have taken theirs.
    """
    if memory.free is None or memory.is_cpu:
        return Verdict.FITS
    return _between(rank.requested_bytes, memory.free - rank.reserve.before, memory.free)


def budget(rank: RankFit) -> Verdict:
    """Weigh what is left for the KV cache against one request of the longest length."""
    # vLLM wants more than nothing even where the need is not modelled.
    need = rank.kv_required_bytes or 1
    return _between(need, rank.kv_budget_low, rank.kv_budget_high)


def space(rank: RankFit, memory: HostMemory) -> Verdict:
    """Weigh a KV cache of a set size, which no utilization bounds, against the whole memory."""
    is_set = rank.kv_budget_from is BudgetOrigin.SET
    if not is_set or memory.is_cpu or rank.weights_bytes is None:
        return Verdict.FITS
    held = rank.weights_bytes + rank.kv_budget_high
    least, most = rank.reserve.low, rank.reserve.high
    return _between(held, memory.available - most, memory.available - least)


def requests(
    model: Architecture, options: EngineOptions, kv: KvFit | None, kv_most: KvFit | None
) -> Verdict:
    """Weigh max_num_seqs against the blocks: with delta nets each request holds one.

    vllm/config/compilation.py (0.32.0); older versions captured graphs for fewer requests.
    """
    if kv is None or kv_most is None or not model.is_hybrid or not options.uses_graphs:
        return Verdict.FITS
    found = _between(options.max_num_seqs, kv.num_blocks, kv_most.num_blocks)
    if options.version < SEQS_BOUND_BY_BLOCKS and found is Verdict.REFUSED:
        return Verdict.TIGHT
    return found


def _between(need: int, low: int, high: int) -> Verdict:
    if need > high:
        return Verdict.REFUSED
    return Verdict.TIGHT if need > low else Verdict.FITS
