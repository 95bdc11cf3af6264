"""Verdicts, and what is said with them, where tests/cases has no case from the field."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.planner.layout import layout
from tandem.planner.memory.fit import fit
from tandem.planner.memory.hosts import HostMemory, Measured, declared_memory
from tandem.planner.memory.result import BudgetOrigin, Fit, Verdict
from tandem.planner.memory.weights import declared_weights
from tandem.units import GIB
from tests.builders import settings
from tests.models import FP8, architecture


def weigh(
    name: str = "Qwen3-8B",
    hosts: int = 1,
    changes: dict[str, Any] | None = None,
    memory: HostMemory | None = None,
    model: dict[str, Any] | None = None,
    weights: int | None = None,
    measured: Measured | None = None,
    version: str | None = "0.19.1",
) -> Fit:
    """Return the fit of a model on hosts alike."""
    said = {"image.vllm": version} if version else {}
    declared = settings(hosts, {**said, **(changes or {})})
    same = memory or HostMemory(total=24 * GIB)
    return fit(
        declared,
        layout(declared),
        architecture(name, model),
        declared_weights(weights, "declared") if weights else None,
        {host.name: same for host in declared.hosts},
        measured,
    )


def codes(found: Fit) -> list[str]:
    """Return the codes of all findings."""
    return [finding.code for finding in found.findings]


def test_a_small_model_fits() -> None:
    found = weigh(changes={"serve.maxModelLen": 16_384})
    assert (found.verdict, codes(found)) == (Verdict.FITS, [])
    assert found.weights is not None
    assert not found.weights.is_exact
    (rank,) = found.ranks
    assert (rank.rank, rank.host, rank.stage) == (0, "host-1", 0)
    assert rank.requested_bytes == round(0.9 * 24 * GIB + 0.5)
    held = rank.requested_bytes - (rank.weights_bytes or 0)
    assert rank.kv_budget_low == held - rank.reserve.high
    assert rank.kv_budget_high == held - rank.reserve.low


def test_a_size_that_was_counted_takes_the_place_of_shapes() -> None:
    found = weigh(weights=17 * GIB)
    assert found.weights is not None
    assert found.weights.origin == "declared"
    assert found.ranks[0].weights_bytes == 17 * GIB


def test_findings_have_the_numbers_and_legal_values() -> None:
    found = weigh(changes={"serve.maxModelLen": 131_072, "serve.gpuMemoryUtilization": 0.8})
    (finding,) = found.findings
    assert found.verdict is Verdict.REFUSED
    assert (finding.code, finding.severity) == ("memory-not-enough", Severity.ERROR)
    assert finding.path == "tandem:serve.maxModelLen"
    assert "a request of 131,072 tokens needs 18.00 GiB of KV cache" in finding.message
    assert found.kv is not None
    assert f"write serve.maxModelLen {found.kv.largest_max_model_len} at most" in finding.fix
    assert "gpuMemoryUtilization" not in finding.fix, "no utilization would do"


def test_what_a_fix_proposes_fits() -> None:
    memory = HostMemory(total=32 * GIB)
    short = {"serve.maxModelLen": 40_960, "serve.gpuMemoryUtilization": 0.6}
    refused = weigh(changes=short, memory=memory)
    assert refused.verdict is Verdict.REFUSED
    assert refused.kv is not None
    shorter = {**short, "serve.maxModelLen": refused.kv.largest_max_model_len}
    assert weigh(changes=shorter, memory=memory).verdict is Verdict.FITS
    assert refused.smallest_utilization is not None
    more = {**short, "serve.gpuMemoryUtilization": refused.smallest_utilization}
    assert weigh(changes=more, memory=memory).verdict is Verdict.FITS


def test_warn_turns_errors_into_warnings() -> None:
    found = weigh(changes={"serve.maxModelLen": 131_072, "planner": "warn"})
    assert found.verdict is Verdict.REFUSED
    assert {finding.severity for finding in found.findings} == {Severity.WARNING}


def test_errors_come_first() -> None:
    found = weigh(
        changes={"serve.maxModelLen": 131_072, "serve.args": ["--load-format=tensorizer"]}
    )
    assert codes(found) == ["memory-not-enough", "loader-reserve"]


@pytest.mark.parametrize(
    ("size", "verdict", "expected"),
    [
        ("5GiB", Verdict.FITS, []),
        ("7GiB", Verdict.TIGHT, ["memory-tight"]),
        ("9GiB", Verdict.REFUSED, ["memory-not-enough"]),
        ("1GiB", Verdict.REFUSED, ["memory-not-enough"]),
    ],
)
def test_a_kv_cache_of_a_set_size_has_to_find_room(
    size: str, verdict: Verdict, expected: list[str]
) -> None:
    found = weigh(changes={"serve.kvCacheMemory": size, "serve.maxModelLen": 16_384})
    assert (found.verdict, codes(found)) == (verdict, expected)
    assert found.ranks[0].kv_budget_from is BudgetOrigin.SET
    assert found.smallest_utilization is None


@pytest.mark.parametrize(
    ("free", "verdict"),
    [(23.5, Verdict.FITS), (22.0, Verdict.TIGHT), (21.0, Verdict.REFUSED)],
)
def test_what_is_free_bounds_the_utilization(free: float, verdict: Verdict) -> None:
    found = weigh(
        changes={"serve.maxModelLen": 16_384},
        memory=HostMemory(total=24 * GIB, free=round(free * GIB)),
    )
    assert found.verdict is verdict
    assert ("utilization-above-free" in codes(found)) is (verdict is not Verdict.FITS)


def test_a_logged_start_takes_the_place_of_assumptions() -> None:
    logged = Measured(origin="the start of 2026-11-30", non_kv_bytes=18 * GIB)
    found = weigh(changes={"serve.gpuMemoryUtilization": 0.8}, measured=logged)
    (rank,) = found.ranks
    assert rank.kv_budget_low == rank.kv_budget_high == rank.requested_bytes - 18 * GIB
    assert rank.kv_budget_from is BudgetOrigin.LOGGED
    assert found.measured == "the start of 2026-11-30"
    assert [part.source for part in rank.reserve.parts] == ["the start of 2026-11-30"]
    assert found.kv == found.kv_most


def test_logged_weights_replace_computed_ones() -> None:
    logged = Measured(origin="a start", weights_bytes=16 * GIB)
    assert weigh(measured=logged).ranks[0].weights_bytes == 16 * GIB


def test_a_host_whose_memory_is_not_known_is_named() -> None:
    declared = settings(2, {"image.vllm": "0.19.1"})
    known = {"host-1": HostMemory(total=24 * GIB)}
    found = fit(declared, layout(declared), architecture("Qwen3-8B"), None, known)
    assert found.verdict is Verdict.UNKNOWN
    assert found.not_modelled == "the memory of host-2: set hosts[].memory"
    assert codes(found) == ["not-modelled"]


def test_more_stages_than_layers_are_no_plan() -> None:
    found = weigh(changes={"serve.pipelineParallel": 10**9, "serve.tensorParallel": 1})
    assert found.not_modelled == "1000000000 stages of 36 layers"


def test_ranks_without_a_gpu_are_counted() -> None:
    found = weigh(changes={"serve.tensorParallel": 2})
    assert found.not_modelled == "where 1 of 2 ranks are to run"


def test_weights_of_an_unknown_format_have_to_be_declared() -> None:
    name = "Qwen3.6-35B-A3B-NVFP4"
    found = weigh(name, changes={"serve.maxNumSeqs": 8})
    assert found.not_modelled == "how the weights are stored: set model.weights"
    assert found.verdict is Verdict.UNKNOWN
    declared = weigh(name, changes={"serve.maxNumSeqs": 8}, weights=12 * GIB)
    assert declared.not_modelled is None


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("Qwen3-8B", {"serve.kvCacheDtype": "turboquant_k8v4"}, "of type turboquant_k8v4"),
        ("Qwen3-8B", {"serve.args": ["-sc", '{"method":"eagle3"}']}, "a draft model (eagle3)"),
        ("Qwen3-8B", {"serve.args": ["--enable-lora"]}, "what --enable-lora changes"),
        (
            "Qwen3.5-27B",
            {"serve.args": ["--disable-hybrid-kv-cache-manager"]},
            "delta nets without the hybrid KV cache manager",
        ),
    ],
)
def test_options_that_are_not_modelled(name: str, changes: dict[str, Any], words: str) -> None:
    found = weigh(name, changes=changes, weights=8 * GIB)
    assert found.verdict is Verdict.UNKNOWN
    assert found.not_modelled is not None
    assert words in found.not_modelled
    assert found.kv is None


def test_weights_alone_can_refuse_what_is_not_modelled() -> None:
    found = weigh("gemma-4-26B-A4B")
    assert found.verdict is Verdict.REFUSED
    assert codes(found) == ["weights-do-not-fit", "not-modelled"]


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        ([], Verdict.REFUSED),
        (["--cpu-offload-gb", "40"], Verdict.UNKNOWN),
        (["--quantization", "fp8"], Verdict.UNKNOWN),
        (["--mamba-block-size", "64"], Verdict.REFUSED),
    ],
)
def test_flags_that_change_the_weights_leave_nothing_to_refuse(
    words: list[str], verdict: Verdict
) -> None:
    assert weigh("Qwen3-32B", changes={"serve.args": words}).verdict is verdict


def test_without_a_longest_request_there_is_no_verdict() -> None:
    found = weigh(model={"max_position_embeddings": None})
    assert found.not_modelled == "how long a request may be: set serve.maxModelLen"


def test_older_versions_capture_fewer_graphs_for_too_many_requests() -> None:
    changes: dict[str, Any] = {"serve.maxNumSeqs": 1024, "serve.maxNumBatchedTokens": 1024}
    memory = HostMemory(total=46 * GIB)
    changes["serve.maxModelLen"] = 8192
    older = weigh("Qwen3.5-27B", changes=changes, memory=memory, model=FP8)
    newer = weigh(
        "Qwen3.5-27B", changes={**changes, "image.vllm": "0.20.0"}, memory=memory, model=FP8
    )
    assert (older.verdict, newer.verdict) == (Verdict.TIGHT, Verdict.REFUSED)
    eager = {**changes, "image.vllm": "0.20.0", "serve.args": ["--enforce-eager"]}
    unbounded = weigh("Qwen3.5-27B", changes=eager, memory=memory, model=FP8)
    assert "max-num-seqs-above-blocks" not in codes(unbounded)


def test_uneven_hosts_without_stages_get_a_warning() -> None:
    declared = settings(2, {"image.vllm": "0.19.1"})
    memory = {"host-1": HostMemory(total=24 * GIB), "host-2": HostMemory(total=32 * GIB)}
    found = fit(declared, layout(declared), architecture("Qwen3-8B"), None, memory)
    assert codes(found) == ["heterogeneous-memory"]
    assert found.verdict is Verdict.FITS


def test_a_partition_that_is_set_is_not_proposed_again() -> None:
    changes = {
        "serve.tensorParallel": 1,
        "serve.pipelineParallel": 2,
        "serve.env": {"VLLM_PP_LAYER_PARTITION": "12,24"},
        "image.vllm": "0.19.1",
    }
    declared = settings(2, changes)
    memory = {"host-1": HostMemory(total=16 * GIB), "host-2": HostMemory(total=32 * GIB)}
    found = fit(declared, layout(declared), architecture("Qwen3-8B"), None, memory)
    assert "heterogeneous-memory" not in codes(found)


def test_on_a_cpu_the_cache_has_the_size_of_its_variable() -> None:
    found = weigh(
        changes={"serve.env": {"VLLM_CPU_KVCACHE_SPACE": "6"}, "image.vllm": "0.32.0"},
        memory=HostMemory(total=60 * GIB, device="cpu"),
    )
    assert found.kv is not None
    assert found.kv.block_size == 128
    assert found.kv.num_blocks == 6 * GIB // (128 * 147_456)
    assert found.verdict is Verdict.FITS


def test_memory_may_be_declared() -> None:
    declared = settings(2, {"hosts.0.memory": {"total": "119.7GiB", "unified": True}})
    assert declared_memory(declared) == {
        "host-1": HostMemory(total=round(119.7 * GIB), unified=True)
    }


@pytest.mark.parametrize("utilization", [None, 0.9])
def test_an_unknown_version_is_told_when_memory_depends_on_it(utilization: float | None) -> None:
    changes: dict[str, Any] = {"serve.maxModelLen": 16_384}
    if utilization:
        changes["serve.gpuMemoryUtilization"] = utilization
    found = weigh(changes=changes, version=None, memory=HostMemory(total=80 * GIB))
    assert codes(found) == ["vllm-version-unknown"]
    (told,) = found.findings
    assert (told.severity, told.path) == (Severity.WARNING, "tandem:image.vllm")
    assert "as vLLM 0.32 does" in told.message


def test_an_unknown_version_is_not_told_when_nothing_depends_on_it() -> None:
    changes: dict[str, Any] = {"serve.maxModelLen": 16_384, "serve.kvCacheMemory": "4GiB"}
    on_gpu = weigh(changes=changes, version=None, memory=HostMemory(total=80 * GIB))
    cpu = HostMemory(total=80 * GIB, device="cpu")
    on_cpu = weigh(
        changes={**changes, "serve.env": {"VLLM_CPU_KVCACHE_SPACE": "4"}}, memory=cpu, version=None
    )
    assert codes(on_gpu) == codes(on_cpu) == []
