"""Compare the model's files on every host with the manifest now; without --fetch they stay so."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tandem.cli.stack_file import add_stack_arguments, read_stack_file
from tandem.cli.statuses import CHANGED, OK
from tandem.errors import GateFailed, WeightsDiffer
from tandem.gates.weights import fetch_and_verify, verify
from tandem.planner.containers import Containers
from tandem.planner.verification import weights_spec
from tandem.survey.registry import tag_digest

if TYPE_CHECKING:
    import argparse

    from tandem.cli.stack_file import StackFile
    from tandem.gates.spec import WeightsSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's words."""
    add_stack_arguments(parser, "print what the manifest is as JSON")
    parser.add_argument(
        "--anew",
        action="store_true",
        help="read every file, also what has not changed since it was hashed: finds decayed disks",
    )
    parser.add_argument(
        "--record",
        action="store_true",
        help="make the manifest from the first host's files, in the place of one that is there",
    )
    parser.add_argument(
        "--fetch",
        action="store_true",
        help="fetch again from the Hub what is wrong or missing, and nothing else",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare; return 0 when every host has the files, 7 when not.

    Raises GateFailed when it can't be told.
    """
    wanted = _spec_as_found(read_stack_file(arguments.stack))
    if not arguments.record and not Path(wanted.manifest).exists():
        raise GateFailed(f"there is no {wanted.manifest}: `pulumi up` makes it, once")
    try:
        result = _result(wanted, arguments)
    except WeightsDiffer as differ:
        print(differ, file=sys.stderr)
        return CHANGED
    print(json.dumps(result, indent=2) if arguments.json else _same(wanted))
    return OK


def _result(wanted: WeightsSpec, arguments: argparse.Namespace) -> dict[str, object]:
    if not arguments.fetch:
        return verify(wanted, anew=arguments.anew, record=arguments.record)
    if wanted.hub is None:
        raise GateFailed("--fetch is for model.source.hub; copy the files into the folder yourself")
    return fetch_and_verify(wanted, anew=arguments.anew)


def _same(wanted: WeightsSpec) -> str:
    hosts = ", ".join(folder.host for folder in wanted.folders)
    return f"{hosts}: the files are those of {wanted.manifest}"


def _spec_as_found(stack: StackFile) -> WeightsSpec:
    image, target = stack.settings.image, stack.settings.first_host.target
    # The hosts have it by digest, as the last `pulumi up` found it.
    return spec(stack, image.digest or tag_digest(target, image))


def spec(stack: StackFile, digest: str | None) -> WeightsSpec:
    """Return what is compared, in containers of the image with this digest."""
    image = stack.settings.image
    name = f"{image.repository}@{digest}" if digest else image.reference
    whole = weights_spec(stack.settings, Containers(stack.settings, stack.name, {}), name)
    retired = {host.name for host in stack.settings.hosts if host.retired}
    return replace(whole, folders=tuple(one for one in whole.folders if one.host not in retired))
