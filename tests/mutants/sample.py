"""Which mutants are tried: a sample that a seed gives."""

from __future__ import annotations

import hashlib
from itertools import islice
from typing import TYPE_CHECKING

from tests.mutants.source import Mutant, mutants

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def sample(
    root: Path, folders: Iterable[str], seed: str, count: int, only: str = ""
) -> list[Mutant]:
    """Return ``count`` of the mutants of the sources below these folders, or fewer.

    Where ``only`` is given, a mutant's name has to begin with it: it begins with the file's path.

    A mutant's own name and the seed give its place in the order, so a change of the sources changes
    the sample only by what it changes.
    """
    paths = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
    texts = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    every = (
        mutant
        for path, text in texts.items()
        for mutant in mutants(path, text)
        if mutant.name.startswith(only)
    )

    def rank(mutant: Mutant) -> str:
        return hashlib.sha256(f"{seed}: {mutant.name}".encode()).hexdigest()

    in_order = sorted((mutant for mutant in every if mutant.name.startswith(only)), key=rank)
    others = (mutant for mutant in in_order if mutant.is_another_program(texts[mutant.path]))
    return list(islice(others, count))
