"""What to tell the user of a Fit, one function a finding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.planner.memory import verdict as checks
from tandem.planner.memory.host_findings import UTILIZATION, host_findings
from tandem.planner.memory.result import BudgetOrigin, Fit, KvFit, RankFit, Verdict
from tandem.planner.vllm.releases import spoken
from tandem.planner.vllm.versions import SEQS_BOUND_BY_BLOCKS
from tandem.units import GIB, gib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tandem.planner.memory.hosts import HostMemory
    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings

LENGTH = "tandem:serve.maxModelLen"

LITTLE_KV = GIB


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
        *host_findings(fit, settings, model, memory),
        *_not_modelled(fit),
    ]
    if settings.planner == "warn":
        found = [warning(f.code, f.path, f.message, f.fix) for f in found]
    return sorted(found, key=lambda finding: finding.severity)


def version_unknown(newest: Fit, oldest: Fit) -> Iterator[Finding]:
    """Yield a warning when what the plan says of memory depends on vLLM's version."""
    if newest.verdict == oldest.verdict and _shares(newest) == _shares(oldest):
        return
    taken, other = (spoken(fit.options.version) for fit in (newest, oldest))
    yield warning(
        "vllm-version-unknown",
        "tandem:image.vllm",
        f"memory is counted as vLLM {taken} does, {_kv_left(newest)} of KV cache; with {other} it "
        f"would be {_kv_left(oldest)}",
        "set image.vllm to the version in the image",
    )


def _shares(fit: Fit) -> list[object]:
    budgets = [(rank.kv_budget_low, rank.kv_budget_high) for rank in fit.ranks]
    return [budgets, fit.kv and fit.kv.max_concurrency, fit.kv_most and fit.kv_most.max_concurrency]


def _kv_left(fit: Fit) -> str:
    left = _budget(fit.shortest) if fit.shortest else "nothing"
    return f"{left} ({fit.kv.max_concurrency:.2f} requests at least)" if fit.kv else left


def _weights(fit: Fit, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    rank = fit.shortest
    if rank is None or rank.weights_bytes is None or not _leaves_nothing(rank):
        return
    asked = f"{gib(rank.requested_bytes)} of {gib(memory[rank.host].total)}"
    yield error(
        "weights-do-not-fit",
        "tandem:serve.tensorParallel",
        f"{rank.host}, rank {rank.rank}: {gib(rank.weights_bytes)} of weights and at least "
        f"{gib(rank.reserve.low)} beside them leave no KV cache in {asked}",
        "spread the model over more GPUs, or take a smaller quantization of it",
    )


def _start(fit: Fit, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    for rank in fit.a_rank_of_each_host:
        host = memory[rank.host]
        weighed = checks.start(rank, host)
        if weighed is Verdict.FITS:
            continue
        message = (
            f"{rank.host}: vLLM asks for {fit.options.utilization:g} x {gib(host.total)} = "
            f"{gib(rank.requested_bytes)}, {gib(host.available)} are free"
        )
        if weighed is Verdict.REFUSED:
            most = math.floor(100 * host.available / host.total) / 100
            yield error("utilization-above-free", UTILIZATION, message, _at_most(most))
        else:
            most = math.floor(100 * (host.available - rank.reserve.before) / host.total) / 100
            message += f", {gib(rank.reserve.before)} less when CUDA and NCCL have started"
            yield warning("utilization-above-free", UTILIZATION, message, _at_most(most))


def _at_most(utilization: float) -> str:
    if utilization <= 0:
        return "free the host's memory first"
    return f"write {utilization:g} at most, or free memory on the host"


def _kv(fit: Fit) -> Iterator[Finding]:
    rank = fit.shortest
    if rank is None or rank.kv_needed_bytes is None or fit.kv is None or fit.kv_most is None:
        return
    weighed = checks.budget(rank)
    message = (
        f"{rank.host}, rank {rank.rank}: a request of {fit.options.max_model_len:,} tokens needs "
        f"{gib(rank.kv_needed_bytes)} of KV cache, {_budget(rank)} are left"
    )
    if weighed is Verdict.REFUSED and not _leaves_nothing(rank):
        yield error("memory-not-enough", LENGTH, message, _shorter(fit, fit.kv, fit.kv_most))
    elif weighed is Verdict.TIGHT:
        spare = rank.kv_budget_high - rank.kv_needed_bytes
        short = rank.kv_needed_bytes - rank.kv_budget_low
        message += (
            f"; between {gib(short)} too little and {gib(spare)} to spare, by what is assumed"
        )
        yield warning("memory-tight", LENGTH, message, _shorter(fit, fit.kv, fit.kv_most))


def _set_kv(fit: Fit, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    """Yield what a KV cache of a set size leaves too little for."""
    told = set()
    for rank in sorted(fit.ranks, key=lambda rank: -(rank.weights_bytes or 0)):
        host = memory[rank.host]
        weighed = checks.space(rank, host)
        if weighed is Verdict.FITS or rank.host in told:
            continue
        told.add(rank.host)
        whole = host.available
        held = rank.weights_bytes or 0
        message = (
            f"{rank.host}, rank {rank.rank}: {gib(held)} of weights and a KV cache of "
            f"{gib(rank.kv_budget_high)} leave {gib(whole - held - rank.kv_budget_high)} of "
            f"{gib(whole)}; the rest takes {gib(rank.reserve.low)} to {gib(rank.reserve.high)}"
        )
        path = "tandem:serve.kvCacheMemory"
        most = whole - held - rank.reserve.high
        fix = f"write {gib(most)} at most" if most > 0 else "spread the model over more GPUs"
        if weighed is Verdict.REFUSED:
            yield error("memory-not-enough", path, message, fix)
        else:
            yield warning("memory-tight", path, message, fix)


def _leaves_nothing(rank: RankFit) -> bool:
    return rank.kv_budget_from is BudgetOrigin.WEIGHED and rank.kv_budget_high <= 0


def _budget(rank: RankFit) -> str:
    if rank.kv_budget_low == rank.kv_budget_high:
        return gib(rank.kv_budget_low)
    if rank.kv_budget_low <= 0:
        return f"at most {gib(max(0, rank.kv_budget_high))}"
    return f"{gib(rank.kv_budget_low)} to {gib(rank.kv_budget_high)}"


def _shorter(fit: Fit, least: KvFit, most: KvFit) -> str:
    """Say which length and which utilization would do: surely, or else perhaps."""
    length = least.largest_max_model_len or most.largest_max_model_len
    ways = [f"write serve.maxModelLen {length} at most"] if length else []
    if fit.smallest_utilization:
        ways.append(f"serve.gpuMemoryUtilization {fit.smallest_utilization:g} at least")
    ways.append("spread the model over more GPUs")
    return ", or ".join(ways)


def _requests(fit: Fit, model: Architecture) -> Iterator[Finding]:
    weighed = checks.requests(model, fit.options, fit.kv, fit.kv_most)
    if weighed is Verdict.FITS or fit.kv is None or not fit.kv_most or not fit.kv_most.num_blocks:
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
    rank = fit.shortest
    if rank is None or fit.verdict is Verdict.REFUSED or rank.kv_budget_low >= LITTLE_KV:
        return
    if rank.kv_budget_from is not BudgetOrigin.WEIGHED or rank.weights_bytes is None:
        return
    share = 100 * rank.weights_bytes / rank.requested_bytes
    yield warning(
        "weights-leave-little-kv",
        "tandem:model",
        f"{rank.host}: weights take {gib(rank.weights_bytes)}, {share:.0f} % of what vLLM asks "
        f"for; {_budget(rank)} are left for the KV cache",
        "few short requests will do; for more, spread the model over more GPUs",
    )


def _not_modelled(fit: Fit) -> Iterator[Finding]:
    if fit.not_modelled is None:
        return
    yield warning(
        "not-modelled",
        "tandem:model",
        f"not known to the planner: {fit.not_modelled}",
        "the verdict covers the rest alone; vLLM's own check at the start decides",
    )
