"""Look at the hosts of a stack and say what is there, and what speaks against the stack file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tandem.cli.stack_file import add_stack_arguments, read_stack_file
from tandem.cli.statuses import OK, REFUSED
from tandem.cli.survey_table import table
from tandem.findings import Severity
from tandem.planner.checks import check_facts, check_hub
from tandem.survey import look_at_hosts

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's words."""
    add_stack_arguments(parser, "print all facts as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print what was seen; return 0 when nothing is an error, else 3."""
    stack = read_stack_file(arguments.stack)
    facts = look_at_hosts(stack.settings, stack.name)
    of_hub = check_hub(stack.settings, facts.hub)
    findings = [*of_hub, *check_facts(stack.settings, facts)]
    if arguments.json:
        said = [finding.model_dump(mode="json") for finding in findings]
        print(json.dumps({**facts.model_dump(mode="json"), "findings": said}, indent=2))
    else:
        print(table(stack.settings, facts, findings))
    return REFUSED if any(finding.severity is Severity.ERROR for finding in findings) else OK
