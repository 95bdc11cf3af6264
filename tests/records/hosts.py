"""What is read of the recorded hosts of tests/unit/survey/hosts, and what `survey` prints of it."""

from __future__ import annotations

import json
from functools import partial

from tandem.cli.survey_table import table
from tandem.planner.checks import check_facts
from tandem.survey.facts import Facts, HostFacts, ImageFacts
from tandem.survey.parse import host_facts
from tests import builders
from tests.project import ROOT

HOSTS = ROOT / "tests" / "unit" / "survey" / "hosts"
NAMES = sorted(path.stem for path in HOSTS.glob("*.txt"))


def read(name: str) -> HostFacts:
    """Return the facts of a recorded host, where the stack `prod` runs."""
    docker = json.loads((HOSTS / f"{name}.json").read_text())
    return host_facts("host-1", "prod", docker, (HOSTS / f"{name}.txt").read_text())


def facts(name: str) -> str:
    """Return the facts of a recorded host as JSON, without what is empty."""
    return json.dumps(read(name).model_dump(exclude_defaults=True), indent=1, default=sorted) + "\n"


def survey(name: str) -> str:
    """Return what `survey` prints of the host beside one that is off."""
    host = read(name)
    addresses = [address for one in host.interfaces or () for address in one.addresses]
    address = next((found for found in addresses if found != "127.0.0.1"), "10.0.0.1")
    settings = builders.settings(2, {"hosts.0.address": address})
    off = HostFacts(name="host-2", problem="no answer within 30 s")
    seen = Facts(stack="prod", hosts=(host, off), image=ImageFacts(digest=builders.DIGEST))
    return table(settings, seen, check_facts(settings, seen)) + "\n"


RECORDS = {
    HOSTS / folder / f"{name}{ending}": partial(make, name)
    for name in NAMES
    for folder, ending, make in (("facts", ".json", facts), ("survey", ".txt", survey))
}
"""What makes each file of the two folders."""
