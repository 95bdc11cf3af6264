"""Says what Python, Ray and vLLM of an image are, as JSON; null is what is not there.

Runs in a container of its own. Standard library only: nothing of the packages is loaded.
"""

from __future__ import annotations

import json
import platform
from importlib import metadata


def version(package: str) -> str | None:
    """Return the version that is installed, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    found = {"python": platform.python_version(), "ray": version("ray"), "vllm": version("vllm")}
    print(json.dumps(found))
