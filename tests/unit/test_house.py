"""docs/house.md says where things go and what they may import; the code keeps to it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
EVERYTHING = "everything"
NOT_PYTHON = "-"

STANDARD_LIBRARY_ONLY = ("tandem/gates", "tandem/remote", "tandem/ssh.py", "tandem/errors.py")
"""What runs as ``python3 -m tandem.gates.NAME``, without a virtual environment."""

FORBIDDEN = {
    "tandem": ("pulumi", "pulumi_docker", "pulumi_command", "components", "lab", "tools"),
    "tandem/settings": ("tandem.planner", "tandem.survey", "tandem.gates", "tandem.remote"),
    "tandem/planner": ("tandem.survey",),
    "tandem/survey": ("tandem.planner", "tandem.gates"),
    "components": ("tandem.survey", "lab", "tools"),
    "lab": ("tandem", "components", "tools"),
    "tools": ("tandem", "components", "lab"),
}


def _table() -> dict[str, str]:
    """Return the last column, what may be imported, by the path in the first column."""
    rows = {}
    for line in (ROOT / "docs/house.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        path = re.fullmatch(r"`([^`]+)`", cells[0])
        if line.startswith("|") and path:
            rows[path[1].removesuffix("/")] = cells[-1]
    return rows


def _modules(path: str) -> list[Path]:
    place = ROOT / path
    return [place] if place.is_file() else sorted(place.rglob("*.py"))


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _imports(node: ast.AST, *, in_functions: bool) -> Iterator[str]:
    """Yield the dotted names that are imported at run time."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.If) and _is_type_checking(node.test):
        for statement in node.orelse:
            yield from _imports(statement, in_functions=in_functions)
    elif in_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, in_functions=in_functions)


def _imported(path: str, *, in_functions: bool = True) -> set[tuple[str, str]]:
    """Return pairs of file and imported name of every module below ``path``."""
    return {
        (str(module.relative_to(ROOT)), name)
        for module in _modules(path)
        for name in _imports(ast.parse(module.read_text()), in_functions=in_functions)
    }


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names


def _is_part_of(name: str, parts: list[str] | tuple[str, ...]) -> bool:
    return any(name == part or name.startswith(f"{part}.") for part in parts)


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")


def test_every_row_exists() -> None:
    table = _table()
    assert table
    assert [path for path in table if not (ROOT / path).exists()] == []


def test_every_top_level_folder_has_a_row() -> None:
    folders = {
        place.name
        for place in ROOT.iterdir()
        if place.is_dir() and not place.name.startswith((".", "__"))
    }
    assert folders - set(_table()) == set()


def test_everything_in_tandem_has_a_row() -> None:
    packages = {f"tandem/{init.parent.name}" for init in (ROOT / "tandem").glob("*/__init__.py")}
    modules = {f"tandem/{path.name}" for path in (ROOT / "tandem").glob("[!_]*.py")}
    assert (packages | modules) - set(_table()) == set()


@pytest.mark.parametrize("path", sorted(_table()))
def test_imports_are_those_of_the_table(path: str) -> None:
    last = _table()[path]
    if last == EVERYTHING:
        return
    if last == NOT_PYTHON:
        assert _modules(path) == []
        return
    allowed = [_dotted(path), *re.findall(r"`([^`]+)`", last)]
    others = {
        (module, name)
        for module, name in _imported(path)
        if not _is_standard(name) and not _is_part_of(name, allowed)
    }
    if path == "tandem":  # its packages have rows of their own
        others = {pair for pair in others if pair[0] == "tandem/__init__.py"}
    assert others == set()


@pytest.mark.parametrize("path", sorted(FORBIDDEN))
def test_imports_go_one_way(path: str) -> None:
    wrong = {pair for pair in _imported(path) if _is_part_of(pair[1], FORBIDDEN[path])}
    assert wrong == set()


@pytest.mark.parametrize("path", STANDARD_LIBRARY_ONLY)
def test_what_destroy_needs_imports_the_standard_library_alone(path: str) -> None:
    each_other = [_dotted(part) for part in STANDARD_LIBRARY_ONLY]
    # `import ray` inside a function of tandem/remote runs in the container, where Ray is.
    in_functions = path != "tandem/remote"
    others = {
        (module, name)
        for module, name in _imported(path, in_functions=in_functions)
        if not _is_standard(name) and not _is_part_of(name, each_other)
    }
    assert others == set()


def test_gates_start_without_site_packages() -> None:
    names = [
        _dotted(str(module.relative_to(ROOT))).removesuffix(".__init__")
        for path in STANDARD_LIBRARY_ONLY
        for module in _modules(path)
    ]
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {', '.join(names)}"
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
