"""The labels of containers: what sets them and what looks for them agree."""

from __future__ import annotations

import re
from pathlib import Path

from tandem.gates.unrecorded import IDENTITY
from tandem.survey.docker import read_containers
from tests.builders import plan

ROOT = Path(__file__).parents[3]


def test_a_container_is_known_again_by_its_labels() -> None:
    specs = plan(2).containers
    listed = [
        {"Id": str(number), "Names": [f"/{spec.name}"], "Labels": spec.labels}
        for number, spec in enumerate(specs)
    ]
    found = read_containers({"containers": listed})
    assert [(one.name, one.stack, one.role) for one in found] == [
        (spec.name, "test", spec.role) for spec in specs
    ]
    assert [one.ports for one in found] == [{6379}, set(), {8000}]


def test_every_label_that_is_looked_for_is_set() -> None:
    declared = plan(2, {"model.revision": "1" * 40})
    labels = {label for spec in declared.containers for label in spec.labels} | {IDENTITY}
    sources = [*ROOT.glob("tandem/**/*.py"), *ROOT.glob("tandem/**/*.sh")]
    named = {name for path in sources for name in re.findall(r"dev\.tandem\.\w+", path.read_text())}
    assert named == labels
