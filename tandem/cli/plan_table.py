"""An assessment as text of at most 100 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.cli.columns import paragraphs
from tandem.planner.summary import size_range
from tandem.planner.vllm.releases import spoken
from tandem.units import gib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.cli.stack_file import StackFile
    from tandem.findings import Finding
    from tandem.planner.assess import Assessment
    from tandem.planner.memory.result import Fit, RankFit

BAR_WIDTH = 48
"""Columns of a bar: all of a GPU's memory."""


def table(stack: StackFile, assessment: Assessment) -> str:
    """Return ranks, a bar for each host, the KV cache, and all findings."""
    serve = stack.settings.serve
    sizes = f"tensor parallel {serve.tensor_parallel}, pipeline parallel {serve.pipeline_parallel}"
    lines = [f"{stack.name}: {assessment.verdict}", f"{stack.settings.model.id}, {sizes}", ""]
    fit = assessment.fit
    if fit is None:
        lines += ["Memory is not weighed: the model's config.json is not known (model.config)", ""]
    else:
        lines += [*_ranks(fit), "", *_bars(stack, fit), "", *_cache(fit), *_origins(fit), ""]
    lines += paragraphs(_said(finding) for finding in assessment.findings)
    return "\n".join(lines).rstrip()


def _ranks(fit: Fit) -> Iterator[str]:
    row = "{:>4}  {:<20}  {:>5}  {:>11}  {:>20}  {:>20}"
    yield row.format("rank", "host", "stage", "weights", "reserve", "left for KV cache")
    for rank in fit.ranks:
        weights = gib(rank.weights_bytes) if rank.weights_bytes is not None else "not known"
        reserve = size_range(rank.reserve.low, rank.reserve.high)
        left = size_range(rank.kv_budget_low, rank.kv_budget_high)
        yield row.format(rank.rank, rank.host, rank.stage, weights, reserve, left)


def _bars(stack: StackFile, fit: Fit) -> Iterator[str]:
    """Yield a GPU's memory on each host, the reserve at its most."""
    yield "# weights  + reserve  = KV cache  . left to others"
    width = max(len(rank.host) for rank in fit.a_rank_of_each_host) if fit.ranks else 0
    gpus = {host.name: host.gpu_count for host in stack.settings.hosts}
    for rank in fit.a_rank_of_each_host:
        many = f" on each of {gpus[rank.host]} GPUs" if gpus[rank.host] > 1 else ""
        yield f"{rank.host:<{width}}  {_bar(rank)}  {gib(rank.total_bytes)}{many}"


def _bar(rank: RankFit) -> str:
    """Return the bar; what does not fit is cut off at its end."""
    sizes = {"#": rank.weights_bytes or 0, "+": rank.reserve.high, "=": rank.kv_budget_low}
    bar = ""
    reached = 0
    for sign, size in sizes.items():
        reached += max(0, size)
        bar += sign * (round(BAR_WIDTH * reached / rank.total_bytes) - len(bar))
    return f"[{bar[:BAR_WIDTH]:.<{BAR_WIDTH}}]"


def _cache(fit: Fit) -> Iterator[str]:
    kv = fit.kv
    if kv is None:
        yield f"KV cache  not modelled: {fit.not_modelled}"
        return
    length = f"{fit.options.max_model_len or 0:,}"
    yield f"KV cache  {kv.num_blocks:,} blocks of {kv.block_size:,} tokens, {kv.tokens:,} tokens"
    yield f"          a request of {length} tokens needs {gib(kv.needed_bytes)}"
    if fit.kv_most and fit.kv_most.max_concurrency != kv.max_concurrency:
        held = f"{max(0, kv.max_concurrency):.1f} to {fit.kv_most.max_concurrency:.1f}"
    else:
        held = f"{kv.max_concurrency:.1f}"
    yield f"          {held} such requests fit at once; the longest that surely fits has"
    yield f"          {kv.largest_max_model_len:,} tokens"


def _origins(fit: Fit) -> Iterator[str]:
    options = fit.options
    guessed = "" if options.is_version_known else " (taken for the newest: image.vllm is not set)"
    yield f"vLLM      {spoken(options.version)}{guessed}, utilization {options.utilization:g}"
    if fit.weights is not None:
        yield f"weights   {gib(fit.weights.total_bytes)}, {fit.weights.origin}"
    if fit.measured is not None:
        yield f"reserve   as logged: {fit.measured}"


def _said(finding: Finding) -> str:
    return f"{finding.severity}: {finding}"
