"""What was planned, beside what the start logged."""

from __future__ import annotations

from tandem.planner.layout import layout
from tandem.planner.memory.fit import fit
from tandem.planner.memory.hosts import HostMemory
from tandem.planner.summary import beside
from tandem.units import GIB
from tests.builders import settings
from tests.models import architecture

STARTED = {
    "weightsBytes": 16 * GIB,
    "kvBudgetBytes": 50 * GIB,
    "kvTokens": 364088,
    "maxConcurrency": 8.89,
}


def test_plan_and_start_stand_side_by_side() -> None:
    declared = settings(1, {"serve.maxModelLen": 40960, "image.vllm": "0.19.1"})
    memory = {"host-1": HostMemory(total=round(79.1 * GIB), device="NVIDIA H100 80GB HBM3")}
    weighed = fit(declared, layout(declared), architecture("Qwen3-8B"), None, memory)
    said = beside(weighed, STARTED)
    assert list(said) == ["weights", "kvCache", "kvTokens", "maxConcurrency"]
    assert said["weights"] == {"planned": "15.26 GiB", "actual": "16.00 GiB"}
    assert said["kvTokens"]["actual"] == "364,088"
    assert weighed.kv is not None
    assert said["kvTokens"]["planned"].startswith(f"{weighed.kv.tokens:,} - ")
    assert said["maxConcurrency"]["actual"] == "8.89"


def test_what_was_not_planned_is_said_to_be_not_known() -> None:
    assert beside(None, {"kvSetBytes": GIB, "kvTokens": 8, "maxConcurrency": 1.0}) == {
        "kvCache": {"planned": "not known", "actual": "1.00 GiB"},
        "kvTokens": {"planned": "not known", "actual": "8"},
        "maxConcurrency": {"planned": "not known", "actual": "1.00"},
    }


def test_a_start_that_logged_nothing_says_nothing() -> None:
    assert beside(None, {}) == {}
