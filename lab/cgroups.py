"""Control groups that containers of a lab leave behind."""

import os
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")


def parent_of(namespace: str) -> str:
    """Return the control group under which a host's dockerd puts its containers."""
    return f"/{namespace}"


def remove(namespace: str) -> None:
    """Remove the control groups of a host without processes, in every hierarchy."""
    # One hierarchy for all controllers (version 2), or one folder for each (version 1).
    for hierarchy in (_ROOT, *_ROOT.iterdir()):
        top = hierarchy / namespace
        if not top.is_dir():
            continue
        for folder, _, _ in os.walk(top, topdown=False):
            os.rmdir(folder)
