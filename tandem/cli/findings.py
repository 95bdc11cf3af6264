"""Print the reference of the findings: every code, its meaning, and what mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings.reference import reference

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare nothing: the command needs no words."""


def run(arguments: argparse.Namespace) -> int:
    """Print what docs/findings.md holds a copy of; return 0."""
    print(reference(), end="")
    return 0
