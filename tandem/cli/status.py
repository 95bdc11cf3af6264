"""Say how the deployment runs now: every host and rank, and how busy the server is."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from tandem.cli.stack_file import add_stack_arguments, read_stack_file
from tandem.cli.status_table import table
from tandem.cli.statuses import BROKEN, CHANGED, OK
from tandem.planner.arguments import server_url
from tandem.planner.status import judge, server_container
from tandem.survey.status import look_at_status

if TYPE_CHECKING:
    import argparse

    from tandem.cli.stack_file import StackFile
    from tandem.planner.status import Status
    from tandem.survey.status import Sample

EVERY_SECONDS = 2
"""How often ``--watch`` looks."""

APART_SECONDS = 1
"""Between the two samples that a single look takes of the server's tokens."""

CLEAR = "\033[H\033[2J"
"""What makes a terminal empty (ECMA-48: cursor position, erase in page)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's words."""
    add_stack_arguments(parser, "print the same facts as JSON")
    parser.add_argument(
        "--watch",
        action="store_true",
        help=f"look again every {EVERY_SECONDS} seconds until Ctrl-C; JSON is then a line a look",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print how it runs; return 0 when all is well, 7 when not, 1 when a host does not answer."""
    stack = read_stack_file(arguments.stack)
    status: Status | None = None
    sample: Sample | None = None
    try:
        while status is None or arguments.watch:
            began = time.monotonic()
            status, sample = _look(stack, sample)
            print(_text(status, as_json=arguments.json, watches=arguments.watch), flush=True)
            if arguments.watch:
                time.sleep(max(0, EVERY_SECONDS - (time.monotonic() - began)))
    except KeyboardInterrupt:
        if sys.stdout.isatty():
            print()  # after the terminal's ^C
    return BROKEN if status is None else _exit_status(status)


def _look(stack: StackFile, before: Sample | None) -> tuple[Status, Sample | None]:
    settings, name = stack.settings, stack.name
    server = server_container(settings, name)
    apart = 0 if before else APART_SECONDS
    hosts = look_at_status(settings, name, server, server_url(settings), apart)
    samples = hosts[0].server.samples if hosts[0].server else ()
    return judge(settings, name, hosts, before), samples[-1] if samples else None


def _text(status: Status, *, as_json: bool, watches: bool) -> str:
    if as_json:
        return status.model_dump_json(indent=None if watches else 2)
    return f"{CLEAR if watches and sys.stdout.isatty() else ''}{table(status)}"


def _exit_status(status: Status) -> int:
    if not status.is_seen:
        return BROKEN
    return OK if status.is_well else CHANGED
