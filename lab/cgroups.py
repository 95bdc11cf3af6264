"""Control groups that containers of a lab leave behind."""

import os
from pathlib import Path

from lab.errors import LabError

_ROOT = Path("/sys/fs/cgroup")


def parent_of(namespace: str) -> str:
    """Return the control group under which a host's dockerd puts its containers."""
    return f"/{namespace}"


def limit_memory(namespace: str, container: str, limit: int) -> None:
    """Set how many bytes of memory a container of a host may have.

    Raises LabError when it has more already, or does not run.
    """
    # Version 2 of control groups, then version 1.
    for place, name in (("", "memory.max"), ("memory", "memory.limit_in_bytes")):
        file = _ROOT / place / namespace / container / name
        if file.exists():
            try:
                file.write_text(str(limit))
            except OSError as problem:
                raise LabError(f"{container} can't be limited: {problem}") from problem
            return
    raise LabError(f"{container} does not run")


def remove(namespace: str) -> None:
    """Remove the control groups of a host without processes, in every hierarchy."""
    # One hierarchy for all controllers (version 2), or one folder for each (version 1).
    for hierarchy in (_ROOT, *_ROOT.iterdir()):
        top = hierarchy / namespace
        if not top.is_dir():
            continue
        for folder, _, _ in os.walk(top, topdown=False):
            os.rmdir(folder)
