"""Every file of tests/cases: an input from the field, and what a planner has to say to it.

tests/cases/README.md describes the form of a case. Adding one needs no Python.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tandem.findings import Finding, Severity
from tandem.planner.architecture import Architecture, read_architecture
from tandem.planner.fit import fit
from tandem.planner.fit_result import Fit, KvFit
from tandem.planner.layout import layout
from tandem.planner.memory import HostMemory, Measured
from tandem.planner.weights import declared_weights
from tandem.settings import Settings
from tandem.units import GIB, parse_bytes
from tests import builders

FOLDER = Path(__file__).parents[2] / "cases"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
KEYS = {"about", "source", "config", "changes", "hosts", "settings", "weights", "logged", "expect"}
EXPECTED = {"verdict", "findings", "fixes", "not_modelled", "kv", "budget_gib", "weights_gib"}
EXPECTED |= {"needed_gib", "smallest_utilization"}
KV = {field for field in KvFit.model_fields} - {"needed_bytes"}


@dataclass(frozen=True)
class Case:
    """One file, and what the planner makes of it."""

    data: dict[str, Any]
    settings: Settings
    model: Architecture
    fit: Fit

    @property
    def findings(self) -> list[Finding]:
        """Return every finding."""
        return list(self.fit.findings)

    @property
    def expect(self) -> dict[str, Any]:
        """Return what the file expects."""
        expected: dict[str, Any] = self.data["expect"]
        return expected


@cache
def read(name: str) -> Case:
    """Read a case and plan it."""
    data: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    settings = _settings(data)
    config = json.loads((FOLDER / "configs" / f"{data['config']}.json").read_text())
    model = read_architecture(_merged(config, data.get("changes", {})))
    weights = data.get("weights")
    logged = {f"{key}_bytes": _bytes(value) for key, value in data.get("logged", {}).items()}
    result = fit(
        settings,
        layout(settings),
        model,
        declared_weights(_bytes(weights), "declared") if weights else None,
        _memory(settings, data),
        Measured(origin=data["source"], **logged) if logged else None,
    )
    return Case(data, settings, model, result)


def _settings(data: dict[str, Any]) -> Settings:
    declared = builders.config(len(data["hosts"]))
    for host, said in zip(declared["hosts"], data["hosts"], strict=True):
        host["gpus"] = said.get("gpus", 1)
    return builders.load(_merged(declared, data.get("settings", {})))


def _memory(settings: Settings, data: dict[str, Any]) -> dict[str, HostMemory]:
    sizes = {"total", "free"}
    return {
        host.name: HostMemory(
            **{
                key: _bytes(value) if key in sizes else value
                for key, value in said.items()
                if key != "gpus"
            }
        )
        for host, said in zip(settings.hosts, data["hosts"], strict=True)
        if "total" in said
    }


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        inner = merged.get(key)
        both = isinstance(inner, dict) and isinstance(value, dict)
        merged[key] = _merged(inner, value) if both and inner else value
    return merged


def _bytes(value: object) -> int:
    size = parse_bytes(value)
    assert isinstance(size, int)
    return size


def _gib(size: int) -> float:
    """Round as vLLM's log does."""
    return round(size / GIB, 2)


def test_there_are_cases() -> None:
    assert len(CASES) > 20


@pytest.mark.parametrize("name", CASES)
def test_a_case_has_no_misspelt_key(name: str) -> None:
    data = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    assert set(data) <= KEYS
    assert set(data["expect"]) <= EXPECTED
    assert data["expect"]
    assert set(data["expect"].get("kv", {})) <= KV


@pytest.mark.parametrize("name", CASES)
def test_a_case_gets_the_right_answer(name: str) -> None:
    """Compare verdict and figures: whole numbers exactly, sizes as vLLM rounds them."""
    case = read(name)
    expect, got = case.expect, case.fit
    if "verdict" in expect:
        assert got.verdict == expect["verdict"], [str(f) for f in got.findings]
    assert (got.not_modelled is not None) == expect.get("not_modelled", False)
    if "kv" in expect:
        assert got.kv is not None
        found = got.kv.model_dump()
        found["max_concurrency"] = round(found["max_concurrency"], 2)
        assert {key: found[key] for key in expect["kv"]} == expect["kv"]
    by_stage = {rank.stage: rank for rank in got.ranks}.values()
    if "needed_gib" in expect:
        needed = [rank.kv_needed_bytes for rank in by_stage]
        assert [_gib(size) for size in needed if size is not None] == expect["needed_gib"]
    if "weights_gib" in expect:
        weights = [rank.weights_bytes for rank in by_stage]
        assert [_gib(size) for size in weights if size is not None] == expect["weights_gib"]
    if "smallest_utilization" in expect:
        assert got.smallest_utilization == expect["smallest_utilization"]
    if "budget_gib" in expect:
        rank = min(got.ranks, key=lambda rank: rank.kv_budget_low)
        low, high = _gib(rank.kv_budget_low), _gib(rank.kv_budget_high)
        assert low <= expect["budget_gib"] <= high, (low, high)


@pytest.mark.parametrize("name", CASES)
def test_a_case_gets_the_right_findings(name: str) -> None:
    """Every code that is expected is found, and nothing else stops the deployment."""
    case = read(name)
    expected = set(case.expect.get("findings", []))
    errors = {f.code for f in case.findings if f.severity is Severity.ERROR}
    assert expected <= {finding.code for finding in case.findings}
    assert errors <= expected, [str(finding) for finding in case.findings]
    fixes = " / ".join(finding.fix for finding in case.findings)
    for words in case.expect.get("fixes", []):
        assert words in fixes
