"""Print the JSON schema of a stack file, or the reference of its keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tandem.settings.reference import reference
from tandem.settings.schema import stack_file_schema

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's words."""
    parser.add_argument(
        "--markdown", action="store_true", help="print the reference of the keys instead"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what docs/ holds a copy of; return 0."""
    if arguments.markdown:
        print(reference(), end="")
    else:
        print(json.dumps(stack_file_schema(), indent=2, ensure_ascii=False))
    return 0
