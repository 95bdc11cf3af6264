"""Every code that is declared: it is made, and it says where, what, and what to do."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import ValidationError

from tandem.findings import Finding, Severity, error, warning
from tandem.findings.declared import CODES, SECTIONS
from tandem.planner.rules import check, check_architecture
from tandem.settings.reference import reference
from tests.case_files import all_cases, fit_of, memory_of, model_of, settings_of
from tests.unit.findings.cases import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
KEYS = frozenset(re.findall(r"^\| `(.+?)` \|", reference(), re.MULTILINE))
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
PARTS = 4
"""A finding is made of code, place, message and fix."""

DECLARED = [(code.name, severity) for code in CODES.values() for severity in code.severities]


@cache
def of_the_field() -> tuple[Finding, ...]:
    """Return what the planner finds in tests/cases."""
    found: list[Finding] = []
    for case in all_cases().values():
        settings = settings_of(case)
        found += check(settings)
        if "config" in case:
            found += check_architecture(settings, model_of(case))
            if memory_of(case, settings):
                found += fit_of(case, case.get("logged")).findings
    return tuple(found)


def made(code: str, severity: Severity, folder: Path) -> list[Finding]:
    """Return every finding that a case makes with this code and severity."""
    found = CASES[code](folder) if code in CASES else ()
    return [f for f in (*found, *of_the_field()) if (f.code, f.severity) == (code, severity)]


def is_place(path: str) -> bool:
    """Tell whether a path leads to a key, or names a command's flag or a file."""
    key = re.sub(r"\[\d+\]", "[]", path.removeprefix("tandem:")).removesuffix("[]")
    if path.startswith("tandem:"):
        return key in KEYS or key.rpartition(".")[0] in {"serve.env", "hosts[].env"}
    return path.startswith("--") or Path(path).suffix in {".yaml", ".json"}


@pytest.mark.parametrize(("code", "severity"), DECLARED)
def test_a_finding_says_where_what_and_what_to_do(
    code: str, severity: Severity, tmp_path: Path
) -> None:
    found = made(code, severity, tmp_path)
    assert found, "no case makes it: add one to tests/cases or tests/unit/findings/cases.py"
    for finding in found:
        assert code == "unknown-key" or is_place(finding.path), finding.path
        said = [finding.path, finding.message, finding.fix]
        assert all(part.strip() == part != "" and "\n" not in part for part in said), said
        assert finding.fix not in finding.message and finding.message not in finding.fix


def written() -> Iterator[tuple[str, str]]:
    """Yield the codes with which the sources make findings, and what makes each."""
    for module in (ROOT / "tandem").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and len(node.args) == PARTS:
                match node.args[0]:
                    case ast.Constant(value=str(code)) if CODE.fullmatch(code):
                        yield code, ast.unparse(node.func)


def test_every_code_in_the_sources_is_declared() -> None:
    found = dict(written())
    assert {"gpus-too-few", "no-stack-file", "clock-skew"} <= found.keys()
    assert found.keys() - CODES.keys() == set()
    plain = [(code, maker) for code, maker in written() if maker in {"error", "warning"}]
    assert set(plain) - set(DECLARED) == set()


def test_a_code_that_is_not_declared_makes_no_finding() -> None:
    with pytest.raises(ValidationError, match="declares no error no-such-code"):
        error("no-such-code", "tandem:hosts", "it is wrong", "correct it")


def test_a_code_makes_no_finding_of_another_severity() -> None:
    with pytest.raises(ValidationError, match="declares no warning gpus-too-few"):
        warning("gpus-too-few", "tandem:hosts", "it is wrong", "correct it")


def test_each_code_is_declared_once_with_whole_sentences() -> None:
    codes = [code for section in SECTIONS for code in section.codes]
    assert len(codes) == len(CODES)
    for code in codes:
        assert CODE.fullmatch(code.name)
        for text in (code.meaning, code.fix):
            assert text.endswith("."), text
            assert "|" not in text, "it stands in a table"
