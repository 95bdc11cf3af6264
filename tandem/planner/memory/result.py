"""The answer to "does it fit", with every number that led to it."""

from __future__ import annotations

from enum import StrEnum

from tandem.findings import Finding
from tandem.planner.memory.reserve import Reserve
from tandem.planner.memory.weights import Weights
from tandem.planner.specs import SpecModel
from tandem.planner.vllm.engine import EngineOptions


class Verdict(StrEnum):
    """Whether a deployment fits."""

    FITS = "fits"
    """Even when everything assumed takes the most that it may."""
    TIGHT = "tight"
    """Only when what is assumed does not take the most."""
    REFUSED = "refused"
    """Not even when everything assumed takes the least."""
    UNKNOWN = "unknown"
    """Something is not modelled, and what is modelled does not refuse."""


class BudgetOrigin(StrEnum):
    """Where a rank's KV budget comes from."""

    WEIGHED = "weighed"
    """What weights and reserve leave: a range."""
    SET = "set"
    """``serve.kvCacheMemory``, or its like on CPUs."""
    LOGGED = "logged"
    """An earlier start."""


class RankFit(SpecModel):
    """One rank's memory in bytes."""

    rank: int
    host: str
    stage: int
    total_bytes: int
    """The GPU's memory, or the host's where it is unified."""
    requested_bytes: int
    """What vLLM asks for: total memory x utilization."""
    weights_bytes: int | None
    """None when the size of the weights is not known."""
    reserve: Reserve
    kv_budget_from: BudgetOrigin
    kv_budget_low: int
    """What is left for the KV cache when the reserve takes the most; negative when it is short."""
    kv_budget_high: int
    """The same when the reserve takes the least."""
    kv_needed_bytes: int | None
    """What one request of the longest length needs; None when it is not modelled."""
    kv_required_bytes: int | None
    """The least budget with which vLLM starts: that, in newer versions with one block more."""


class KvFit(SpecModel):
    """What the KV cache holds, on every rank alike."""

    block_size: int
    """Tokens of a block."""
    num_blocks: int
    tokens: int
    """The size that vLLM logs."""
    max_concurrency: float
    """How many requests of the longest length fit at once."""
    needed_bytes: int
    """What one such request needs on the rank that needs most."""
    largest_max_model_len: int
    """The longest request that fits, in tokens, at most the declared and the model's own one."""


class Fit(SpecModel):
    """The answer."""

    verdict: Verdict
    not_modelled: str | None
    """What the planner does not know of this deployment, in words, or None."""
    weights: Weights | None
    measured: str | None
    """Which start's figures stand for the assumptions, or None."""
    options: EngineOptions
    """What vLLM makes of the settings."""
    ranks: tuple[RankFit, ...]
    kv: KvFit | None
    """When the reserve takes the most; None when the KV cache is not modelled."""
    kv_most: KvFit | None
    """When the reserve takes the least."""
    smallest_utilization: float | None
    """The least utilization with which even the largest reserve fits, or None: there is none."""
    findings: tuple[Finding, ...]

    @property
    def a_rank_of_each_host(self) -> tuple[RankFit, ...]:
        """Return the first rank of every host, in the order of ranks."""
        first: dict[str, RankFit] = {}
        for rank in self.ranks:
            first.setdefault(rank.host, rank)
        return tuple(first.values())

    @property
    def shortest(self) -> RankFit | None:
        """Return the rank that lacks most: one that is refused if there is any."""
        return min(self.ranks, key=_spare, default=None)


def _spare(rank: RankFit) -> tuple[bool, int]:
    need = rank.kv_required_bytes or 1
    return rank.kv_budget_high >= need, rank.kv_budget_low - need
