"""`python -m tandem schema`, and the copies of what it prints in docs/."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.cli.main import main

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(
    ("words", "name"),
    [(["schema"], "stack.schema.json"), (["schema", "--markdown"], "keys.md")],
)
def test_docs_hold_what_the_settings_say(
    words: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    command = f"python -m tandem {' '.join(words)} > docs/{name}"
    kept = (DOCS / name).read_text(encoding="utf-8")
    assert kept == capsys.readouterr().out, f"the settings have changed; write it anew: {command}"
