"""Every file of tests/cases: an input from the field, and what a planner has to say to it.

tests/cases/README.md describes the form of a case. Adding one needs no Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from tandem.findings import Finding, Severity
from tandem.planner.memory.result import Fit, KvFit
from tandem.planner.rules import check, check_architecture
from tandem.units import GIB
from tests.case_files import all_cases, fit_of, memory_of, model_of, settings_of

KEYS = {"about", "source", "config", "changes", "hosts", "settings", "weights", "logged", "printed"}
KEYS |= {"expect"}
MEMORY = {"verdict", "findings", "fixes", "not_modelled", "kv", "budget_gib", "weights_gib"}
MEMORY |= {"needed_gib", "smallest_utilization"}
EXPECTED = {*MEMORY, "rules"}
RULE = {"code", "severity", "path", "words"}
PRINTED = {"started", "weights_gib", "needed_gib", "budget_gib", "tokens", "longest", "sets"}
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


CASES = all_cases()
WITH_MEMORY = [name for name, data in CASES.items() if MEMORY & set(data["expect"])]
WITH_RULES = [name for name, data in CASES.items() if "rules" in data["expect"]]


@cache
def read(name: str) -> Case:
    """Plan a case."""
    data = CASES[name]
    settings = settings_of(data)
    rules = check(settings)
    if "config" not in data:
        return Case(data, rules, None)
    rules += check_architecture(settings, model_of(data))
    weighed = fit_of(data, data.get("logged")) if memory_of(data, settings) else None
    return Case(data, rules, weighed)


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
    assert set(data.get("printed", {})) <= PRINTED
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
