"""Say whether a stack fits its hosts: memory of every rank, KV cache, and what to correct."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tandem.cli.plan_table import table
from tandem.cli.stack_file import add_stack_arguments, read_stack_file
from tandem.cli.statuses import BROKEN, OK, REFUSED
from tandem.errors import HubFailed
from tandem.planner.assess import assess
from tandem.planner.summary import summary
from tandem.survey import files, survey
from tandem.survey.hub import hub_facts, hub_model

if TYPE_CHECKING:
    import argparse

    from tandem.cli.stack_file import StackFile
    from tandem.survey import Facts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's words."""
    add_stack_arguments(parser, "print the same facts as JSON")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="try a value, e.g. serve.maxModelLen=32768",
    )
    parser.add_argument("--offline", action="store_true", help="do not look at the hosts")
    parser.add_argument(
        "--hub",
        action="store_true",
        help="take config.json and the weights' size from the Hub, before any download",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the plan; return 0 when it fits or is tight, 3 when refused, 1 without the Hub."""
    stack = read_stack_file(arguments.stack, arguments.set)
    facts = _facts(stack, offline=arguments.offline)
    model = stack.settings.model
    if arguments.hub:
        try:
            known = hub_model(model.id, model.revision, model.source.endpoint)
            hub = hub_facts(model) if model.source.hub else None
            facts = facts.model_copy(update={"model": known, "hub": hub})
        except HubFailed as problem:
            print(problem, file=sys.stderr)
            return BROKEN
    assessment = assess(stack.settings, facts)
    if arguments.json:
        print(json.dumps(summary(assessment), indent=2))
    else:
        print(table(stack, assessment))
    return REFUSED if assessment.errors else OK


def _facts(stack: StackFile, *, offline: bool) -> Facts:
    if offline:
        return files(stack.settings, stack.folder)
    return survey(stack.settings, stack.name, stack.folder)
