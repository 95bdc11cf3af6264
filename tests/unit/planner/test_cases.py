"""Cases from the field, one data file each: see tests/cases/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tandem.findings import Finding
from tandem.planner.architecture import read_architecture
from tandem.planner.rules import check, check_architecture
from tests.builders import settings, with_changes

CASES = Path(__file__).parents[2] / "cases"
KEYS = {"title", "source", "hosts", "set", "model", "config", "variants", "findings"}
FINDING_KEYS = {"code", "severity", "path", "words"}


def _cases() -> dict[str, dict[str, Any]]:
    """Return every case by file and title; each variant is laid over its file's case."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(CASES.glob("*.yaml")):
        case = yaml.safe_load(path.read_text())
        for variant in case.pop("variants", [{}]):
            both = {**case, **variant}
            both |= {key: case.get(key, {}) | variant.get(key, {}) for key in ("set", "config")}
            name = f"{path.stem}: {both['title']}"
            assert name not in found, f"{name} is there twice"
            found[name] = both
    return found


def _findings(case: dict[str, Any]) -> list[Finding]:
    declared = settings(case.get("hosts", 1), case["set"])
    findings = check(declared)
    if "model" in case:
        config = json.loads((CASES / "configs" / f"{case['model']}.json").read_text())
        model = read_architecture(with_changes(config, case["config"]))
        findings += check_architecture(declared, model)
    return findings


FOUND = _cases()


@pytest.mark.parametrize("name", FOUND)
def test_case(name: str) -> None:
    case = FOUND[name]
    assert set(case) <= KEYS
    assert "findings" in case, "a case says what is found, an empty list when nothing is"
    found, expected = _findings(case), case["findings"]
    assert [(f.code, f.severity.value, f.path.removeprefix("tandem:")) for f in found] == [
        (e["code"], e["severity"], e["path"]) for e in expected
    ]
    for finding, wanted in zip(found, expected, strict=True):
        assert set(wanted) <= FINDING_KEYS
        missing = [word for word in wanted.get("words", []) if str(word) not in str(finding)]
        assert missing == [], str(finding)


@pytest.mark.parametrize("name", FOUND)
def test_case_names_its_source(name: str) -> None:
    assert FOUND[name].get("source"), "where the case was met, e.g. vllm#414"
