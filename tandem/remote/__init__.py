"""Small programs that are sent to a host or a container. Standard library only."""

from importlib import resources


def source(name: str) -> str:
    """Return the text of one of the programs, e.g. ``ask.py``."""
    return resources.files(__name__).joinpath(name).read_text()
