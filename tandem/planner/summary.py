"""An assessment as plain data: for ``plan --json`` and the stack's outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tandem.planner.assess import Assessment
    from tandem.planner.fit_result import Fit, KvFit, RankFit


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
