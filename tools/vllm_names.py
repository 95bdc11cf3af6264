"""Read the flags and parser names of vLLM releases into ``tandem/planner/vllm/names.json``.

``python3 -m tools.vllm_names FOLDER...`` takes unpacked source distributions of vLLM, one of each
minor release and in rising order, and writes the file anew. Nothing of vLLM is imported or run.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "tandem/planner/vllm/names.json"

_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_FLAG_FUNCTIONS = ("add_cli_args", "make_arg_parser")
_REGISTRIES = {
    "toolParsers": ("_TOOL_PARSERS_TO_REGISTER", ("tool_parsers", "entrypoints/openai")),
    "reasoningParsers": ("_REASONING_PARSERS_TO_REGISTER", ("reasoning",)),
}


def names(release: Path) -> dict[str, set[str]]:
    """Return the flags of ``vllm serve`` and the parser names of an unpacked release."""
    package = release / "vllm"
    found = {kind: _parsers(package, *place) for kind, place in _REGISTRIES.items()}
    return {"flags": set(_flags(package)), **found}


def _flags(package: Path) -> Iterator[str]:
    """Yield what argparse is given: literal flags, and the fields of the front end's classes."""
    frontends = sorted((package / "entrypoints").rglob("cli_args.py"))
    for path in (package / "engine/arg_utils.py", *frontends):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name in _FLAG_FUNCTIONS:
                yield from (word for word in _texts(node) if _FLAG.fullmatch(word))
            elif isinstance(node, ast.ClassDef) and node.name.endswith("FrontendArgs"):
                fields = (part.target for part in node.body if isinstance(part, ast.AnnAssign))
                yield from (f"--{ast.unparse(field)}".replace("_", "-") for field in fields)


def _parsers(package: Path, registry: str, folders: tuple[str, ...]) -> set[str]:
    """Return the keys of the registry; up to 0.10 a decorator on each class names them."""
    found: set[str] = set()
    for path in (path for folder in folders for path in (package / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign) and registry in map(ast.unparse, node.targets):
                found |= set(ast.literal_eval(node.value))
            elif isinstance(node, ast.ClassDef) and "parser" in path.name:
                calls = (call for call in node.decorator_list if isinstance(call, ast.Call))
                for call in calls:
                    if ast.unparse(call.func).endswith("ParserManager.register_module"):
                        found |= set(_texts(call))
    return found


def _texts(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def _change(before: set[str], now: set[str]) -> dict[str, list[str]]:
    return {"added": sorted(now - before), "gone": sorted(before - now)}


def steps(releases: list[Path]) -> list[dict[str, Any]]:
    """Return what each release adds to the one before and takes away from it."""
    known: dict[str, set[str]] = {"flags": set(), **{kind: set() for kind in _REGISTRIES}}
    found: list[dict[str, Any]] = []
    for release in releases:
        now = names(release)
        changes = {kind: _change(known[kind], now[kind]) for kind in known}
        found.append({"release": release.name.removeprefix("vllm-"), **changes})
        known = now
    return found


if __name__ == "__main__":
    TARGET.write_text(json.dumps(steps([Path(word) for word in sys.argv[1:]]), indent=1) + "\n")
