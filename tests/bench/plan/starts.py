"""Logged starts as questions that every tool gets alike, and what the logs answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tandem.units import GIB
from tests.case_files import all_cases, config_of, fit_of

if TYPE_CHECKING:
    from tandem.planner.memory.result import Fit
    from tests.case_files import Case


@dataclass(frozen=True)
class Answer:
    """What a log or a tool says of one start; None is not said. GiB are those of one rank."""

    verdict: str | None = None
    """``fits``, ``tight`` or ``refused``."""
    weights: float | None = None
    """GiB after loading."""
    need: float | None = None
    """GiB of KV cache for a request of the longest length."""
    capacity: float | None = None
    """What the logged KV cache holds, in tokens: the log's size, or its longest request."""
    budget: float | None = None
    """GiB that are left for the KV cache, from the specification alone."""


@dataclass(frozen=True)
class Question:
    """One start for a tool that knows no stack file; vLLM's defaults are filled in."""

    name: str
    config: dict[str, Any]
    weights_bytes: int
    """The whole checkpoint; 0 when not known, and then only need and capacity are asked for."""
    tensor_parallel: int
    length: int
    kv_type: str
    """``bf16`` or ``fp8``."""
    total_gib: float
    utilization: float
    step_tokens: int
    budget_gib: float | None
    """The logged KV cache."""
    asks_longest: bool
    """Whether the log's capacity is the longest request, not the size in tokens."""


@dataclass(frozen=True)
class Start:
    """One logged start."""

    name: str
    log: Answer
    sets: str | None
    """Constants of Tandem that this start set, in words; None when it set none."""
    ours: Answer
    question: Question | None
    """None when only Tandem can be asked."""
    barrier: str | None
    """Why, in words."""
    low: float
    """GiB that Tandem says are left for the KV cache at least."""
    high: float
    """At most."""


def logged_starts() -> list[Start]:
    """Return every case whose file says what the start printed."""
    return [_start(name, case) for name, case in all_cases().items() if "printed" in case]


def _start(name: str, case: Case) -> Start:
    printed = case["printed"]
    budget, is_whole = printed.get("budget_gib"), not name.endswith("-logged")
    planned = fit_of(case)
    capacity = printed.get("tokens", printed.get("longest"))
    started = {True: "fits", False: "refused", None: None}[printed.get("started")]
    log = Answer(
        verdict=started,
        weights=printed.get("weights_gib"),
        need=printed.get("needed_gib"),
        capacity=capacity,
        budget=budget if is_whole else None,
    )
    barrier = _barrier(case, planned)
    rank = planned.shortest
    assert rank is not None
    return Start(
        name=name,
        log=log,
        sets=printed.get("sets"),
        ours=_ours(case, planned, printed),
        question=None if barrier else _question(name, case, planned, printed),
        barrier=barrier,
        low=rank.kv_budget_low / GIB,
        high=rank.kv_budget_high / GIB,
    )


def _ours(case: Case, planned: Fit, printed: dict[str, Any]) -> Answer:
    """Return the plan's figures: the middle where it gives a range."""
    rank = planned.shortest
    assert rank is not None
    grown = [part for part in rank.reserve.parts if part.name == "repacked weights"]
    repacked = sum(part.low + part.high for part in grown) / 2
    capacity = None
    if "tokens" in printed or "longest" in printed:
        kv = fit_of(case, {"kv_budget": f"{printed['budget_gib']}GiB"}).kv
        assert kv is not None
        capacity = kv.tokens if "tokens" in printed else kv.largest_max_model_len
    return Answer(
        verdict=str(planned.verdict),
        weights=(rank.weights_bytes + repacked) / GIB if rank.weights_bytes else None,
        need=rank.kv_needed_bytes / GIB if rank.kv_needed_bytes is not None else None,
        capacity=capacity,
        budget=(rank.kv_budget_low + rank.kv_budget_high) / 2 / GIB,
    )


def _barrier(case: Case, planned: Fit) -> str | None:
    """Return what of a start neither rival can be told, or None."""
    if planned.options.pipeline_parallel > 1:
        return "pipeline stages"
    if planned.options.loads_mtp:
        return "draft layers"
    if any("free" in host for host in case["hosts"]):
        return "free memory of unified hosts"
    return None


def _question(name: str, case: Case, planned: Fit, printed: dict[str, Any]) -> Question:
    options, rank = planned.options, planned.shortest
    assert rank is not None and options.max_model_len is not None
    return Question(
        name=name,
        config=config_of(case),
        weights_bytes=planned.weights.total_bytes if planned.weights else 0,
        tensor_parallel=options.tensor_parallel,
        length=options.max_model_len,
        kv_type="fp8" if options.kv_value_bytes == 1 else "bf16",
        total_gib=rank.total_bytes / GIB,
        utilization=options.utilization,
        step_tokens=options.max_num_batched_tokens,
        budget_gib=printed.get("budget_gib"),
        asks_longest="longest" in printed,
    )


def as_data(question: Question) -> dict[str, Any]:
    """Return a question for a tool in another Python."""
    return asdict(question)
