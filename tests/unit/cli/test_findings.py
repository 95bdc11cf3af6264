"""`python -m tandem findings`, and the copy of what it prints in docs/."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.cli.main import main

KEPT = Path(__file__).parents[3] / "docs/findings.md"


def test_docs_hold_every_code_as_declared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["findings"]) == 0
    command = "python -m tandem findings > docs/findings.md"
    printed = capsys.readouterr().out
    assert KEPT.read_text(encoding="utf-8") == printed, f"codes have changed; run {command}"
