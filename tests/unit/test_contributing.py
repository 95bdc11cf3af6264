"""CONTRIBUTING.md names what is there, and a commit is checked as `make check` does it."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
ONE_PAGE = 60
"""Lines of it."""


def test_every_target_that_is_named_is_one_of_the_makefile() -> None:
    named = " ".join(re.findall(r"make ([a-z0-9 -]+)[`\n]", PAGE)).split()
    targets = " ".join(re.findall(r"^([a-z][a-z0-9 -]*):", MAKEFILE, re.MULTILINE)).split()
    assert {"check", "unit", "test-e2e"} <= set(named)
    assert set(named) - set(targets) == set()


def test_every_path_that_is_named_is_there() -> None:
    links = re.findall(r"\]\(((?!http)[^)#]+)", PAGE)
    folders = re.findall(r"`((?:tandem|tests)/[^`]+)`", PAGE)
    assert len(links) > 2 and len(folders) > 2
    assert [path for path in (*links, *folders) if not (ROOT / path).exists()] == []


def test_it_is_one_page() -> None:
    assert len(PAGE.splitlines()) <= ONE_PAGE


def test_a_commit_is_checked_with_the_tools_of_make_check_and_nothing_else() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repository,) = config["repos"]
    assert repository["repo"] == "local", "no repository is fetched"
    hooks = repository["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    recipe = re.search(r"^check: setup\n((?:\t.+\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    checks = [line.split() for line in recipe[1].splitlines()]
    assert [hook["entry"].split()[:2] for hook in hooks] == [words[:2] for words in checks]
