"""Say what is no longer as the last `up` left it: resources, containers, weights, hosts."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from tandem.cli.columns import columns
from tandem.cli.stack_file import add_stack_arguments, read_stack_file
from tandem.cli.statuses import BROKEN, CHANGED, OK
from tandem.cli.weights import spec
from tandem.errors import GateFailed, WeightsDiffer
from tandem.gates.weights import verify
from tandem.planner.assess import image_digest
from tandem.planner.drift import (
    Drift,
    containers_drift,
    hosts_drift,
    resources_drift,
    weights_drift,
)
from tandem.survey import look_at_hosts
from tandem.survey.engine import outputs, refresh

if TYPE_CHECKING:
    import argparse

    from tandem.cli.stack_file import StackFile
    from tandem.survey import Facts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's words."""
    add_stack_arguments(parser, "print the same facts as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print what changed; return 0 when nothing did, 7 when something did, 1 without all hosts.

    Raises EngineFailed and GateFailed when it can't be told.
    """
    stack = read_stack_file(arguments.stack)
    retired = [host.name for host in stack.settings.hosts if host.retired]
    if retired:
        # The engine's refresh would ask it, and wait.
        print(f"{', '.join(retired)}: retired, so what is there can't be compared", file=sys.stderr)
        return BROKEN
    facts = look_at_hosts(stack.settings, stack.name)
    silent = [host for host in facts.hosts if host.problem is not None]
    for host in silent:
        print(f"{host.name} does not answer: {host.problem}", file=sys.stderr)
    if silent:
        return BROKEN
    # All three go over the connections that are there now.
    with ThreadPoolExecutor() as pool:
        changes = pool.submit(refresh, stack.name)
        recorded = pool.submit(outputs, stack.name)
        files = pool.submit(_files, stack, facts)
    found = [
        *resources_drift(changes.result(), facts),
        *containers_drift(facts),
        *hosts_drift(recorded.result().get("found", {}), stack.settings, facts),
    ]
    try:
        found += weights_drift(files.result())
    except GateFailed as failed:
        if not found:
            raise
        # What has changed may be why, as an image that is gone.
        print(f"the model's files can't be compared: {failed}", file=sys.stderr)
    if arguments.json:
        print(json.dumps([drift.model_dump(mode="json") for drift in found], indent=2))
    else:
        print(_table(stack, found))
    return CHANGED if found else OK


def _files(stack: StackFile, facts: Facts) -> tuple[str, ...]:
    """Return a line for each file that is not the manifest's; none where there is no manifest."""
    wanted = spec(stack, image_digest(stack.settings, facts))
    if not Path(wanted.manifest).exists():
        return ()
    try:
        verify(wanted)
    except WeightsDiffer as differ:
        return differ.lines
    return ()


def _table(stack: StackFile, found: list[Drift]) -> str:
    if not found:
        return f"{stack.name}: no drift"
    rows = [("what", "declared", "found", "since")]
    rows += [(drift.what, drift.declared, drift.found, _time(drift.since)) for drift in found]
    return "\n".join([f"{stack.name}: {len(found)} changed", "", *columns(rows)])


def _time(since: str | None) -> str:
    """Return a time of Docker's to the second."""
    return since[:19].replace("T", " ") if since else "-"
