"""What to tell the user of a Fit, one function a finding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.planner import verdict as checks
from tandem.planner.engine import PLAIN_LOADERS
from tandem.planner.fit_result import BudgetOrigin, Fit, KvFit, RankFit, Verdict
from tandem.planner.versions import SEQS_BOUND_BY_BLOCKS
from tandem.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tandem.planner.architecture import Architecture
    from tandem.planner.memory import HostMemory
    from tandem.settings import Settings

UTILIZATION = "tandem:serve.gpuMemoryUtilization"
LENGTH = "tandem:serve.maxModelLen"

UNIFIED_HEADROOM = 10 * GIB
"""What to leave to the system on unified memory, which vLLM's profile run may pass
(vllm#46307, vllm#56824)."""
UNIFIED_TOKENS = 2048
LITTLE_KV = GIB
UNEVEN = 1.1
"""Ratio from which two hosts' memories count as different; drivers alone differ by 2 %."""


def fit_findings(
    fit: Fit, settings: Settings, model: Architecture, memory: Mapping[str, HostMemory]
) -> list[Finding]:
    """Return the findings of a fit, errors first."""
    found = [
        *_weights(fit, memory),
        *_start(fit, memory),
        *_kv(fit),
        *_set_kv(fit, memory),
        *_requests(fit, model),
        *_little_kv(fit),
        *_loader(fit),
        *_unified(fit, settings, memory),
        *_uneven(fit, model, memory),
        *_not_modelled(fit),
    ]
    if settings.planner == "warn":
        found = [warning(f.code, f.path, f.message, f.fix) for f in found]
    return sorted(found, key=lambda finding: finding.severity)


def _weights(fit: Fit, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    rank = _shortest(fit)
    if rank is None or rank.weights_bytes is None or not _leaves_nothing(rank):
        return
    asked = f"{gib(rank.requested_bytes)} of {gib(memory[rank.host].total)} GiB asked for"
    yield error(
        "weights-do-not-fit",
        "tandem:serve.tensorParallel",
        f"{rank.host}, rank {rank.rank}: {gib(rank.weights_bytes)} GiB of weights and at least "
        f"{gib(rank.reserve.low)} GiB beside them leave no KV cache in {asked}",
        "spread the model over more GPUs, or take a smaller quantization of it",
    )


def _start(fit: Fit, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    for rank in _one_a_host(fit):
        host = memory[rank.host]
        weighed = checks.start(rank, host)
        if weighed is Verdict.FITS or host.free is None:
            continue
        message = (
            f"{rank.host}: vLLM asks for {fit.options.utilization:g} x {gib(host.total)} = "
            f"{gib(rank.requested_bytes)} GiB, {gib(host.free)} GiB are free"
        )
        if weighed is Verdict.REFUSED:
            most = math.floor(100 * host.free / host.total) / 100
            yield error("utilization-above-free", UTILIZATION, message, _at_most(most))
        else:
            most = math.floor(100 * (host.free - rank.reserve.before) / host.total) / 100
            message += f", {gib(rank.reserve.before)} less when CUDA and NCCL have started"
            yield warning("utilization-above-free", UTILIZATION, message, _at_most(most))


def _at_most(utilization: float) -> str:
    if utilization <= 0:
        return "free the host's memory first"
    return f"write {utilization:g} at most, or free memory on the host"


def _kv(fit: Fit) -> Iterator[Finding]:
    rank = _shortest(fit)
    if rank is None or rank.kv_needed_bytes is None or fit.kv is None or fit.kv_most is None:
        return
    weighed = checks.budget(rank)
    message = (
        f"{rank.host}, rank {rank.rank}: a request of {fit.options.max_model_len:,} tokens needs "
        f"{gib(rank.kv_needed_bytes)} GiB of KV cache, {_budget(rank)} GiB are left"
    )
    if weighed is Verdict.REFUSED and not _leaves_nothing(rank):
        yield error("memory-not-enough", LENGTH, message, _shorter(fit, fit.kv_most))
    elif weighed is Verdict.TIGHT:
        spare = rank.kv_budget_high - rank.kv_needed_bytes
        short = rank.kv_needed_bytes - rank.kv_budget_low
        message += (
            f"; between {gib(short)} GiB too little and {gib(spare)} GiB to spare, by what is "
            "assumed"
        )
        yield warning("memory-tight", LENGTH, message, _shorter(fit, fit.kv))


def _set_kv(fit: Fit, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    """Yield what a KV cache of a set size leaves too little for."""
    for rank in _one_a_host(fit):
        host = memory[rank.host]
        weighed = checks.space(rank, host)
        if weighed is Verdict.FITS:
            continue
        whole = host.total if host.free is None else host.free
        held = rank.weights_bytes or 0
        message = (
            f"{rank.host}: {gib(held)} GiB of weights and a KV cache of "
            f"{gib(rank.kv_budget_high)} GiB leave {gib(whole - held - rank.kv_budget_high)} of "
            f"{gib(whole)} GiB; the rest takes {gib(rank.reserve.low)} to {gib(rank.reserve.high)}"
        )
        path = "tandem:serve.kvCacheMemory"
        most = whole - held - rank.reserve.high
        fix = f"write {gib(most)}GiB at most" if most > 0 else "spread the model over more GPUs"
        if weighed is Verdict.REFUSED:
            yield error("memory-not-enough", path, message, fix)
        else:
            yield warning("memory-tight", path, message, fix)


def _leaves_nothing(rank: RankFit) -> bool:
    return rank.kv_budget_from is BudgetOrigin.WEIGHED and rank.kv_budget_high <= 0


def _budget(rank: RankFit) -> str:
    if rank.kv_budget_low == rank.kv_budget_high:
        return gib(rank.kv_budget_low)
    return f"{gib(rank.kv_budget_low)} to {gib(rank.kv_budget_high)}"


def _shorter(fit: Fit, kv: KvFit) -> str:
    """Say which length and which utilization would do."""
    ways = []
    if kv.largest_max_model_len > 0:
        ways.append(f"write serve.maxModelLen {kv.largest_max_model_len} at most")
    if fit.smallest_utilization:
        ways.append(f"serve.gpuMemoryUtilization {fit.smallest_utilization:g} at least")
    ways.append("spread the model over more GPUs")
    return ", or ".join(ways)


def _requests(fit: Fit, model: Architecture) -> Iterator[Finding]:
    weighed = checks.requests(model, fit.options, fit.kv, fit.kv_most)
    if weighed is Verdict.FITS or fit.kv is None or fit.kv_most is None:
        return
    blocks = f"{fit.kv.num_blocks:,}"
    if fit.kv_most.num_blocks != fit.kv.num_blocks:
        blocks += f" to {fit.kv_most.num_blocks:,}"
    make = error if weighed is Verdict.REFUSED else warning
    outcome = "vLLM refuses to start"
    if fit.options.version < SEQS_BOUND_BY_BLOCKS:
        outcome = "vLLM captures graphs for fewer requests"
    yield make(
        "max-num-seqs-above-blocks",
        "tandem:serve.maxNumSeqs",
        f"{fit.options.max_num_seqs:,} requests at once, but the KV cache has {blocks} blocks, and "
        f"each request holds one for its state: {outcome}",
        f"write {max(1, fit.kv.num_blocks)} at most",
    )


def _little_kv(fit: Fit) -> Iterator[Finding]:
    rank = _shortest(fit)
    if rank is None or fit.verdict is Verdict.REFUSED or rank.kv_budget_low >= LITTLE_KV:
        return
    if rank.kv_budget_from is not BudgetOrigin.WEIGHED or rank.weights_bytes is None:
        return
    share = 100 * rank.weights_bytes / rank.requested_bytes
    yield warning(
        "weights-leave-little-kv",
        "tandem:model",
        f"{rank.host}: weights take {gib(rank.weights_bytes)} GiB, {share:.0f} % of what vLLM asks "
        f"for; {_budget(rank)} GiB are left for the KV cache",
        "few short requests will do; for more, spread the model over more GPUs",
    )


def _loader(fit: Fit) -> Iterator[Finding]:
    if fit.options.load_format in PLAIN_LOADERS:
        return
    yield warning(
        "loader-reserve",
        "tandem:serve.args",
        f"--load-format {fit.options.load_format} keeps buffers: 4.4 to 4.6 GiB less for the KV "
        "cache were seen",
        "leave it out when memory is short",
    )


def _unified(fit: Fit, settings: Settings, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    for rank in _one_a_host(fit):
        host = memory[rank.host]
        if not host.unified or host.is_cpu:
            continue
        rest = host.total - rank.requested_bytes
        if rest < UNIFIED_HEADROOM:
            most = math.floor(100 * (host.total - UNIFIED_HEADROOM) / host.total) / 100
            yield warning(
                "unified-headroom",
                UTILIZATION,
                f"{rank.host}: {gib(rest)} of {gib(host.total)} GiB are left to the system, and on "
                "unified memory vLLM may pass its share while it profiles; the host can hang",
                f"write {most:g} at most" if most > 0 else "take a host with more memory",
            )
        elif (
            fit.options.max_num_batched_tokens > UNIFIED_TOKENS and not settings.serve.max_model_len
        ):
            yield warning(
                "unified-headroom",
                "tandem:serve.maxNumBatchedTokens",
                f"{rank.host}: the longest request is the model's own, and "
                f"{fit.options.max_num_batched_tokens:,} tokens a step are profiled; on unified "
                "memory that may pass vLLM's share and hang the host",
                f"write serve.maxModelLen, and {UNIFIED_TOKENS} here",
            )


def _uneven(fit: Fit, model: Architecture, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    totals = {rank.host: memory[rank.host].total for rank in fit.ranks}
    if not totals or max(totals.values()) < min(totals.values()) * UNEVEN:
        return
    least, most = min(totals, key=totals.__getitem__), max(totals, key=totals.__getitem__)
    message = (
        f"{least} has {gib(totals[least])} GiB a GPU, {most} {gib(totals[most])}; the utilization "
        "is one number, and the rank with the fewest blocks decides for all"
    )
    stages = fit.options.pipeline_parallel
    if stages == 1:
        fix = "pipelineParallel would let a larger GPU have more layers"
        yield warning("heterogeneous-memory", "tandem:serve.tensorParallel", message, fix)
    elif fit.options.layer_partition is None and stages <= len(model.layers):
        shares = [
            min((rank.requested_bytes for rank in fit.ranks if rank.stage == stage), default=0)
            for stage in range(stages)
        ]
        partition = ",".join(map(str, _partition(len(model.layers), shares)))
        fix = f'set serve.env VLLM_PP_LAYER_PARTITION to "{partition}"'
        yield warning("heterogeneous-memory", "tandem:serve.env", message, fix)


def _partition(layers: int, shares: list[int]) -> list[int]:
    """Deal out layers in proportion, at least one a stage; the largest remainders get the rest."""
    free = layers - len(shares)
    exact = [free * share / max(1, sum(shares)) for share in shares]
    counts = [1 + math.floor(part) for part in exact]
    by_remainder = sorted(
        range(len(shares)), key=lambda stage: math.floor(exact[stage]) - exact[stage]
    )
    for stage in by_remainder[: layers - sum(counts)]:
        counts[stage] += 1
    return counts


def _not_modelled(fit: Fit) -> Iterator[Finding]:
    if fit.not_modelled is None:
        return
    yield warning(
        "not-modelled",
        "tandem:model",
        f"not known to the planner: {fit.not_modelled}",
        "the verdict covers the rest alone; vLLM's own check at the start decides",
    )


def _shortest(fit: Fit) -> RankFit | None:
    """Return the rank that lacks most, or has least to spare."""
    return min(
        fit.ranks,
        key=lambda rank: rank.kv_budget_low - (rank.kv_required_bytes or 0),
        default=None,
    )


def _one_a_host(fit: Fit) -> list[RankFit]:
    return list({rank.host: rank for rank in reversed(fit.ranks)}.values())[::-1]


def gib(size: int) -> str:
    """Write a size in GiB with two digits."""
    return f"{size / GIB:.2f}"
