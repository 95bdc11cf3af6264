"""The commands, and how they end."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from tandem.cli import drift, plan, schema, survey, weights
from tandem.errors import InvalidStack

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = (plan, survey, weights, drift, schema)
"""Each module has NAME, its docstring as help, ``add_arguments`` and ``run``."""

OK, INVALID, REFUSED = 0, 2, 3
"""Exit statuses: fits or tight; the file is invalid; refused by memory or by a rule."""


def main(words: Sequence[str]) -> int:
    """Run a command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tandem", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        text = (module.__doc__ or "").partition("\n")[0]
        command = commands.add_parser(module.NAME, help=text, description=text)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    arguments = parser.parse_args(words)
    try:
        return int(arguments.run(arguments))
    except InvalidStack as invalid:
        print(invalid, file=sys.stderr)
        return INVALID
