"""What it takes when there is nothing to do, beside a Pulumi program that declares nothing."""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lab import Lab
from tests.bench.measure import RUNS, Comparison, succeed, timed
from tests.project import Project, Run

if TYPE_CHECKING:
    from collections.abc import Callable

STACK = "idle"
GOAL = 1.5
REFRESH = ("refresh", "--yes", "--skip-preview")
LOOK = ("refresh", "--preview-only", "--expect-no-changes")
EMPTY = """\
name: empty
runtime: {name: python, options: {toolchain: pip, virtualenv: .venv}}
"""


def measure() -> list[Comparison]:
    """Return `up`, `refresh` and `drift` of a deployment that is as it should be."""
    lab = Lab.up(2)
    with tempfile.TemporaryDirectory() as folder:
        empty = _empty(Path(folder) / "empty")
        project = Project.copy(Path(folder) / "project", STACK, "lab")
        project.change("image.reference", lab.stand_in_image)
        succeed(empty.up())
        succeed(project.up())
        drift = partial(project.tandem, "drift", STACK)
        try:
            return [
                _compared("`up`", project.up, "`up`", empty.up),
                _compared(
                    "`refresh`",
                    partial(project.pulumi, *REFRESH),
                    "`refresh`",
                    partial(empty.pulumi, *REFRESH),
                ),
                _compared(
                    "`tandem drift`", drift, "a refresh's preview", partial(empty.pulumi, *LOOK)
                ),
            ]
        finally:
            project.pulumi("destroy", "--yes", "--skip-preview")


def _compared(
    what: str, way: Callable[[], Run], beside: str, other: Callable[[], Run]
) -> Comparison:
    ours, theirs = [], []
    for _ in range(RUNS):
        theirs.append(timed(lambda: succeed(other())))
        ours.append(timed(lambda: succeed(way())))
    return Comparison(f"{what}, nothing to do", ours, f"{beside}, empty program", theirs, GOAL)


def _empty(folder: Path) -> Project:
    """Return a stack of a program without resources, in the same language."""
    folder.mkdir()
    (folder / "backend").mkdir()
    (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
    (folder / "Pulumi.yaml").write_text(EMPTY)
    (folder / "__main__.py").write_text("import pulumi\n")
    project = Project(folder, STACK)
    succeed(project.pulumi("stack", "init", STACK))
    return project
