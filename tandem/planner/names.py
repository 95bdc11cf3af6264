"""The names of what a deployment has on a host."""

from __future__ import annotations


def container_name(stack: str, host: str, part: str) -> str:
    """Return the name of a container; ``part`` is e.g. ``server``."""
    return f"tandem-{stack}-{host}-{part}"
