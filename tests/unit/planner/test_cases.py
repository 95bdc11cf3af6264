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
from tandem.planner.layout import layout
from tandem.planner.memory.fit import fit
from tandem.planner.memory.hosts import HostMemory, Measured
from tandem.planner.memory.result import Fit, KvFit
from tandem.planner.memory.weights import declared_weights
from tandem.planner.model.architecture import Architecture, read_architecture
from tandem.planner.rules import check, check_architecture
from tandem.settings import Settings
from tandem.units import GIB, parse_bytes
from tests import builders

FOLDER = Path(__file__).parents[2] / "cases"
KEYS = {"about", "source", "config", "changes", "hosts", "settings", "weights", "logged", "expect"}
MEMORY = {"verdict", "findings", "fixes", "not_modelled", "kv", "budget_gib", "weights_gib"}
MEMORY |= {"needed_gib", "smallest_utilization"}
EXPECTED = {*MEMORY, "rules"}
ON_HOST = {"gpus", "env"}
"""Keys of a case's host that are keys of the stack file's; the rest is its memory."""
RULE = {"code", "severity", "path", "words"}
KV = {field for field in KvFit.model_fields} - {"needed_bytes"}


@dataclass(frozen=True)
class Case:
    """One case, and what the planner makes of it."""

    data: dict[str, Any]
    rules: list[Finding]
    """What is found without a look at memory."""
    fit: Fit | None
    """None when the case names no host's memory."""

    @property
    def expect(self) -> dict[str, Any]:
        """Return what the case expects."""
        expected: dict[str, Any] = self.data["expect"]
        return expected


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        inner = merged.get(key)
        both = isinstance(inner, dict) and isinstance(value, dict)
        merged[key] = _merged(inner, value) if both and inner else value
    return merged


def _all_cases() -> dict[str, dict[str, Any]]:
    """Return every case by its name: the file's, and its own where a file has several."""
    cases: dict[str, dict[str, Any]] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        data = yaml.safe_load(path.read_text())
        variants = data.pop("variants", None)
        for variant in variants or [{}]:
            name = f"{path.stem}: {variant['about']}" if variants else path.stem
            assert name not in cases, f"{name} is there twice"
            cases[name] = _merged(data, variant)
    return cases


CASES = _all_cases()
WITH_MEMORY = [name for name, data in CASES.items() if MEMORY & set(data["expect"])]
WITH_RULES = [name for name, data in CASES.items() if "rules" in data["expect"]]


@cache
def read(name: str) -> Case:
    """Plan a case."""
    data = CASES[name]
    settings = _settings(data)
    rules = check(settings)
    if "config" not in data:
        return Case(data, rules, None)
    config = json.loads((FOLDER / "configs" / f"{data['config']}.json").read_text())
    model = read_architecture(_merged(config, data.get("changes", {})))
    rules += check_architecture(settings, model)
    memory = _memory(settings, data)
    return Case(data, rules, _fit(data, settings, model, memory) if memory else None)


def _fit(
    data: dict[str, Any],
    settings: Settings,
    model: Architecture,
    memory: dict[str, HostMemory],
) -> Fit:
    weights = data.get("weights")
    logged = {f"{key}_bytes": _bytes(value) for key, value in data.get("logged", {}).items()}
    return fit(
        settings,
        layout(settings),
        model,
        declared_weights(_bytes(weights), "declared") if weights else None,
        memory,
        Measured(origin=data["source"], **logged) if logged else None,
    )


def _settings(data: dict[str, Any]) -> Settings:
    declared = builders.config(len(data["hosts"]))
    for host, said in zip(declared["hosts"], data["hosts"], strict=True):
        host |= {key: said[key] for key in ON_HOST & set(said)}
    return builders.load(_merged(declared, data.get("settings", {})))


def _memory(settings: Settings, data: dict[str, Any]) -> dict[str, HostMemory]:
    sizes = {"total", "free"}
    return {
        host.name: HostMemory(
            **{
                key: _bytes(value) if key in sizes else value
                for key, value in said.items()
                if key not in ON_HOST
            }
        )
        for host, said in zip(settings.hosts, data["hosts"], strict=True)
        if "total" in said
    }


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
    data = CASES[name]
    assert set(data) <= KEYS
    assert data["source"]
    assert set(data["expect"]) <= EXPECTED
    assert data["expect"]
    assert set(data["expect"].get("kv", {})) <= KV
    assert all(set(rule) <= RULE for rule in data["expect"].get("rules", []))


@pytest.mark.parametrize("name", WITH_RULES)
def test_a_case_breaks_the_right_rules(name: str) -> None:
    """Compare all that is found, one by one, and the words in which it is told."""
    found, expected = read(name).rules, CASES[name]["expect"]["rules"]
    assert [(f.code, f.severity.value, f.path.removeprefix("tandem:")) for f in found] == [
        (rule["code"], rule["severity"], rule["path"]) for rule in expected
    ]
    for finding, rule in zip(found, expected, strict=True):
        missing = [words for words in rule.get("words", []) if str(words) not in str(finding)]
        assert missing == [], str(finding)


@pytest.mark.parametrize("name", WITH_MEMORY)
def test_a_case_gets_the_right_answer(name: str) -> None:
    """Compare verdict and figures: whole numbers exactly, sizes as vLLM rounds them."""
    case = read(name)
    expect, got = case.expect, case.fit
    assert got is not None, "no host has memory"
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


@pytest.mark.parametrize("name", WITH_MEMORY)
def test_a_case_gets_the_right_findings(name: str) -> None:
    """Every code that is expected is found, and nothing else stops the deployment."""
    case = read(name)
    expected = set(case.expect.get("findings", []))
    assert case.fit is not None, "no host has memory"
    findings = [*case.rules, *case.fit.findings]
    errors = {f.code for f in findings if f.severity is Severity.ERROR}
    assert expected <= {finding.code for finding in findings}
    assert errors <= expected, [str(finding) for finding in findings]
    fixes = " / ".join(finding.fix for finding in findings)
    for words in case.expect.get("fixes", []):
        assert words in fixes
