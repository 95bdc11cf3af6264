"""Copies Python distributions, with what they need, from one root file system to another."""

import re
import shutil
from importlib.metadata import Distribution, distributions
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def copy_with_needs(name: str, source: Path, target: Path) -> None:
    """Copy a distribution and all that it needs from one folder of packages to another."""
    there = {_plain(found.name): found for found in distributions(path=[str(source)])}
    for found in _closure(name, there):
        for file in found.files or []:
            # Pruned from the source, or a command outside the packages.
            if ".." in file.parts or not (source / file).exists():
                continue
            place = target / file
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / file, place)


def _closure(name: str, there: dict[str, Distribution]) -> list[Distribution]:
    """Return the distribution of a name and its needs, extras left out."""
    found: dict[str, Distribution] = {}
    waiting = [_plain(name)]
    while waiting:
        one = waiting.pop()
        # What is needed on other systems alone is not there.
        if one in found or one not in there:
            continue
        found[one] = there[one]
        needs = [need for need in there[one].requires or [] if "extra ==" not in need]
        waiting += [_plain(match[0]) for need in needs if (match := _NAME.match(need))]
    return list(found.values())


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
