"""An assessment as plain data: for ``plan --json`` and the stack's outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.units import GIB, gib

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tandem.planner.assess import Assessment
    from tandem.planner.memory.result import Fit, KvFit, RankFit


def summary(assessment: Assessment) -> dict[str, Any]:
    """Return verdict, findings, ranks and KV cache; sizes in bytes, keys in camelCase."""
    return {
        "ok": not assessment.errors,
        "verdict": str(assessment.verdict),
        "findings": [finding.model_dump(mode="json") for finding in assessment.findings],
        **fit_summary(assessment.fit),
    }


def fit_summary(fit: Fit | None) -> dict[str, Any]:
    """Return what a fit says in numbers, the cautious end of a range first."""
    if fit is None:
        return {"ranks": [], "kv": None, "notModelled": "the model's config.json is not known"}
    return {
        "ranks": [_rank(rank) for rank in fit.ranks],
        "kv": _kv(fit.kv) if fit.kv else None,
        "kvMost": _kv(fit.kv_most) if fit.kv_most else None,
        "weightsFrom": fit.weights.origin if fit.weights else None,
        "smallestUtilization": fit.smallest_utilization,
        "notModelled": fit.not_modelled,
    }


def beside(fit: Fit | None, started: Mapping[str, float]) -> dict[str, dict[str, str]]:
    """Return what was planned beside what the start logged, in words, for one rank.

    ``started`` is what ``tandem.gates.start_log`` reads. What neither knows is left out.
    """
    budget = "kvSetBytes" if "kvSetBytes" in started else "kvBudgetBytes"
    actual = {
        "weights": _size(started, "weightsBytes"),
        "kvCache": _size(started, budget),
        "kvTokens": f"{started['kvTokens']:,}" if "kvTokens" in started else None,
        "maxConcurrency": f"{started['maxConcurrency']:.2f}" if "kvTokens" in started else None,
    }
    planned = _planned(fit) if fit else {}
    return {
        name: {"planned": planned.get(name) or "not known", "actual": logged or "not logged"}
        for name, logged in actual.items()
        if logged or planned.get(name)
    }


def _size(started: Mapping[str, float], name: str) -> str | None:
    return gib(round(started[name])) if name in started else None


def _planned(fit: Fit) -> dict[str, str]:
    said: dict[str, str] = {}
    weights = [rank.weights_bytes for rank in fit.ranks if rank.weights_bytes is not None]
    if weights:
        said["weights"] = gib(max(weights))
    if rank := fit.shortest:
        said["kvCache"] = size_range(rank.kv_budget_low, rank.kv_budget_high)
    if fit.kv and fit.kv_most:
        low, high = fit.kv, fit.kv_most
        said["kvTokens"] = _numbers(f"{low.tokens:,}", f"{high.tokens:,}")
        said["maxConcurrency"] = _numbers(
            f"{low.max_concurrency:.2f}", f"{high.max_concurrency:.2f}"
        )
    return said


def _numbers(low: str, high: str) -> str:
    return low if low == high else f"{low} - {high}"


def size_range(low: int, high: int) -> str:
    """Write a range of bytes in GiB."""
    return gib(low) if low == high else f"{low / GIB:.2f} - {gib(high)}"


def _rank(rank: RankFit) -> dict[str, Any]:
    return {
        "host": rank.host,
        "rank": rank.rank,
        "stage": rank.stage,
        "requestedBytes": rank.requested_bytes,
        "weightsBytes": rank.weights_bytes,
        "reserveBytes": rank.reserve.high,
        "reserveLeastBytes": rank.reserve.low,
        "reserve": [part.model_dump(mode="json") for part in rank.reserve.parts],
        "kvBudgetBytes": rank.kv_budget_low,
        "kvBudgetMostBytes": rank.kv_budget_high,
        "kvBudgetFrom": str(rank.kv_budget_from),
    }


def _kv(kv: KvFit) -> dict[str, Any]:
    return {
        "blockSize": kv.block_size,
        "numBlocks": kv.num_blocks,
        "tokens": kv.tokens,
        "maxConcurrency": round(kv.max_concurrency, 2),
        "neededBytes": kv.needed_bytes,
        "largestMaxModelLen": kv.largest_max_model_len,
    }
