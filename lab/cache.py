"""Folders that are made once and found again by the content of their recipe."""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from lab.layout import CACHE

_HASH_LENGTH = 12


def digest_of(parts: list[str]) -> str:
    """Return a short hash of the parts of a recipe, sensitive to where each part ends."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(hashlib.sha256(part.encode()).digest())
    return whole.hexdigest()[:_HASH_LENGTH]


def text_of(folder: Path) -> str:
    """Return the names and contents of all source files under a folder, in a fixed order."""
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    return "".join(f"{path.relative_to(folder)}\n{path.read_text()}\n" for path in files)


def made_once(kind: str, recipe: str, make: Callable[[Path], None], *, root: Path = CACHE) -> Path:
    """Return the folder for a recipe's hash, which make fills when it is not there yet.

    A folder gets its final name only when make has returned; what an interrupted run left is
    removed.
    """
    folder = root / f"{kind}-{recipe}"
    if folder.is_dir():
        return folder
    unfinished = root / f"{kind}-{recipe}.unfinished"
    if unfinished.exists():
        shutil.rmtree(unfinished)
    unfinished.mkdir(parents=True)
    make(unfinished)
    unfinished.rename(folder)
    return folder


def remove_others(folders: list[Path], *, root: Path = CACHE) -> None:
    """Remove what older recipes made, given the folders of today's recipes."""
    kinds = [folder.name.rsplit("-", 1)[0] for folder in folders]
    for other in root.iterdir():
        if other not in folders and other.name.rsplit("-", 1)[0] in kinds:
            shutil.rmtree(other)
