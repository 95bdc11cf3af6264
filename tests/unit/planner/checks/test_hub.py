"""A model from the Hub: its commit, what the Hub says of it, and room for it."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.findings import Finding, Severity
from tandem.planner import make_plan
from tandem.planner.assess import assess
from tandem.survey.facts import HubFacts
from tandem.survey.machine import DiskFacts
from tandem.survey.model_folder import ModelFolder
from tandem.units import GIB
from tests.builders import facts, findings, settings

COMMIT = "c" * 40
HUB = {"model.source": {"hub": True}}
ENDPOINT = "https://hub.example"


def found(changes: dict[str, Any], hub: HubFacts | None) -> list[Finding]:
    """Return what speaks against the model when the Hub says this of it."""
    declared = settings(1, changes)
    seen = facts(declared, {"model": ModelFolder()}).model_copy(update={"hub": hub})
    return list(assess(declared, seen).findings)


@pytest.mark.parametrize(
    ("revision", "said"), [("main", '"main" is no commit'), (None, "no commit is declared")]
)
def test_a_revision_that_moves_is_refused_with_the_commit_that_it_is_now(
    revision: str | None, said: str
) -> None:
    changes = HUB | ({"model.revision": revision} if revision else {})
    (finding,) = found(changes, HubFacts(endpoint=ENDPOINT, commit=COMMIT, files_bytes=1))
    assert finding.severity is Severity.ERROR
    assert str(finding) == (
        f"tandem:model.revision: {said}, and what {ENDPOINT} has can change; "
        f"write {COMMIT}, what it is now [revision-not-fixed]"
    )
    (finding,) = found(changes, None)
    assert str(finding).startswith(
        f"tandem:model.revision: {said}; write the commit, 40 hex digits: "
    )


def test_a_model_that_the_hub_does_not_give_is_refused() -> None:
    refused = HubFacts(endpoint=ENDPOINT, refusal=f"{ENDPOINT} has no org/model at {COMMIT}")
    (finding,) = found(HUB | {"model.revision": COMMIT}, refused)
    assert (finding.code, finding.severity) == ("hub-refuses", Severity.ERROR)
    assert finding.message == refused.refusal
    assert "HF_TOKEN" in finding.fix


def test_with_a_commit_nothing_speaks_against_a_model_that_is_not_there_yet() -> None:
    assert found(HUB | {"model.revision": COMMIT}, None) == []
    declared = settings(2, HUB | {"model.revision": COMMIT})
    assert make_plan(declared, facts(declared), "test").weights.hub is not None


@pytest.mark.parametrize(
    ("there", "refused"), [(0, True), (19 * GIB, True), (20 * GIB, False), (None, False)]
)
def test_docker_needs_room_for_what_is_yet_to_come(there: int | None, refused: bool) -> None:
    disk = DiskFacts(free=100 * GIB, size=500 * GIB, mounted_on="/")
    changes = HUB | {"model.revision": COMMIT, "model.weights": "120GiB"}
    said = findings(2, last={"docker_disk": disk, "fetched_bytes": there}, changes=changes)
    assert [finding.code for finding in said] == ["disk-too-small"] * refused
    if refused:
        assert str(said[0]).startswith(
            f"tandem:model.source.hub: the model takes 120.00 GiB, {(there or 0) / GIB:.2f} GiB of "
            "it are there, and Docker's disk on host-2 (/) has 100.00 GiB free of 500.00 GiB; "
        )
