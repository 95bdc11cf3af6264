"""What an earlier start logged takes the place of what would be assumed."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.planner.layout import layout
from tandem.planner.memory.fit import fit
from tandem.planner.memory.hosts import HostMemory
from tandem.planner.memory.starts import measured, record, start_of
from tandem.settings import ServeSettings
from tandem.survey.facts import StartFacts
from tandem.units import GIB
from tests.builders import DIGEST, settings
from tests.models import architecture

H100 = HostMemory(total=round(79.1 * GIB), device="NVIDIA H100 80GB HBM3")
ONE = {"host-1": H100}

SAME_MEMORY: dict[str, Any] = {
    "maxModelLen": 4096,
    "gpuMemoryUtilization": 0.5,
    "kvCacheMemory": "1GiB",
    "port": 9000,
    "listen": "0.0.0.0",
    "readyTimeout": "1h",
    "stallTimeout": "1h",
}
"""Keys of ``serve`` that change nothing that a rank holds beside its KV cache, with a value."""

OTHER_MEMORY: dict[str, Any] = {
    "tensorParallel": 2,
    "pipelineParallel": 2,
    "maxNumSeqs": 16,
    "maxNumBatchedTokens": 2048,
    "kvCacheDtype": "fp8",
    "args": ["--enforce-eager"],
    "env": {"A": "1"},
}
"""Keys of ``serve`` that do, or may, with a value."""


def start(changes: dict[str, Any] | None = None, digest: str = DIGEST) -> dict[str, Any] | None:
    return start_of(settings(1, changes or {}), digest, ONE)


def test_a_record_replaces_the_assumptions_of_the_next_plan_which_says_so() -> None:
    declared = settings(1, {"serve.maxModelLen": 32768})
    model = architecture("Qwen3-8B")
    assumed = fit(declared, layout(declared), model, None, ONE)
    fact = StartFacts(
        start=start() or {}, weights_bytes=15 * GIB, non_kv_bytes=17 * GIB, when="2026-11-30"
    )
    known = measured(start({"serve.maxModelLen": 32768}), (fact,))
    learned = fit(declared, layout(declared), model, None, ONE, known)
    (rank,) = learned.ranks
    assert rank.kv_budget_low == rank.kv_budget_high == rank.requested_bytes - 17 * GIB
    assert rank.weights_bytes == 15 * GIB
    assert learned.measured == "start of 2026-11-30"
    assert assumed.measured is None
    assert assumed.ranks[0].kv_budget_low < assumed.ranks[0].kv_budget_high


def counts_for(record: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    """Tell whether what one start logged counts for another one."""
    fact = StartFacts(start=record or {}, weights_bytes=1, non_kv_bytes=2, when="now")
    return measured(other, (fact,)) is not None


@pytest.mark.parametrize("key", SAME_MEMORY)
def test_what_changes_nothing_that_a_rank_holds_keeps_the_record(key: str) -> None:
    changed = start({f"serve.{key}": SAME_MEMORY[key]})
    assert counts_for(start(), changed)
    assert counts_for(changed, start())


def test_what_running_deployments_keep_of_a_start_stays_as_it_is() -> None:
    # Other words of the spec would run their ready gates again.
    assert (start() or {})["serve"]["stallTimeout"] == 600
    other = start({"serve.stallTimeout": "1h"})
    assert other != start()


@pytest.mark.parametrize("key", OTHER_MEMORY)
def test_what_changes_a_ranks_memory_needs_a_record_of_its_own(key: str) -> None:
    assert not counts_for(start(), start({f"serve.{key}": OTHER_MEMORY[key]}))


def test_of_every_key_of_serve_it_is_known_whether_it_changes_a_ranks_memory() -> None:
    keys = {field.alias for field in ServeSettings.model_fields.values()}
    assert keys == SAME_MEMORY.keys() | OTHER_MEMORY.keys()


@pytest.mark.parametrize("changes", [{"model.id": "other/model"}, {"hosts.0.gpus": 2}])
def test_another_model_or_number_of_gpus_needs_a_record_of_its_own(changes: dict[str, Any]) -> None:
    assert start(changes) != start()


def test_another_image_or_gpu_needs_a_record_of_its_own() -> None:
    assert start(digest="sha256:" + "b" * 64) != start()
    other = {"host-1": HostMemory(total=H100.total, device="NVIDIA A100")}
    assert start_of(settings(), DIGEST, other) != start()


def test_a_start_is_kept_in_these_words() -> None:
    declared = settings(2, {"serve.maxNumSeqs": 16, "serve.env": {"A": "1"}})
    both = {"host-1": H100, "host-2": H100}
    assert start_of(declared, DIGEST, both) == {
        "model": "org/model",
        "image": DIGEST,
        "gpu": "NVIDIA H100 80GB HBM3",
        "gpuBytes": H100.total,
        "hosts": [1, 1],
        "serve": {
            "tensorParallel": 2,
            "pipelineParallel": 1,
            "maxNumSeqs": 16,
            "args": [],
            "env": {"A": "1"},
            "stallTimeout": 600,
        },
    }
    mixed = {"host-1": H100, "host-2": HostMemory(total=H100.total, device="NVIDIA A100")}
    assert start_of(declared, DIGEST, mixed) is None
    assert start_of(declared, DIGEST, ONE) is None


def test_of_several_records_that_of_the_same_start_counts() -> None:
    records = tuple(
        StartFacts(start=begun or {}, weights_bytes=1, non_kv_bytes=2, when=when)
        for begun, when in ((start({"serve.maxNumSeqs": 1}), "then"), (start(), "now"))
    )
    known = measured(start(), records)
    assert known is not None
    assert (known.origin, known.weights_bytes, known.non_kv_bytes) == ("start of now", 1, 2)
    assert known.kv_budget_bytes is None
    assert measured(start({"serve.maxNumSeqs": 2}), records) is None


@pytest.mark.parametrize(
    ("digest", "memory"),
    [
        (None, ONE),
        (DIGEST, {}),
        (DIGEST, {"host-1": HostMemory(total=H100.total)}),
        (DIGEST, {"host-1": HostMemory(total=H100.total, device="cpu")}),
    ],
)
def test_a_start_that_cannot_be_told_from_others_is_not_kept(
    digest: str | None, memory: dict[str, HostMemory]
) -> None:
    assert start_of(settings(), digest, memory) is None
    assert record(None, None) is None


def test_the_gate_is_told_what_vllm_asks_for() -> None:
    declared = settings(1, {"serve.gpuMemoryUtilization": 0.5})
    weighed = fit(declared, layout(declared), architecture("Qwen3-8B"), None, ONE)
    kept = record(start(), weighed)
    assert kept is not None
    assert kept.path == "stacks/starts.json"
    assert kept.start == start()
    assert kept.requested_bytes == H100.requested(0.5)
