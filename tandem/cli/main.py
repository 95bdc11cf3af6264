"""The commands, and how they end."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from tandem.cli.statuses import BROKEN, INVALID
from tandem.errors import InvalidStack, TandemError

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = ("plan", "survey", "status", "logs", "weights", "drift", "schema", "findings")
"""Modules of tandem.cli; each has its docstring as help, ``add_arguments`` and ``run``."""


def main(words: Sequence[str]) -> int:
    """Run a command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tandem", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    # A command does not wait for what only the others import; the help needs all.
    for name in words[:1] if words and words[0] in COMMANDS else COMMANDS:
        module = import_module(f"tandem.cli.{name}")
        text = (module.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(name, help=text, description=text)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    arguments = parser.parse_args(words)
    try:
        return int(arguments.run(arguments))
    except TandemError as problem:
        print(problem, file=sys.stderr)
        return INVALID if isinstance(problem, InvalidStack) else BROKEN
