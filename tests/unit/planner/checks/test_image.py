"""Images that are not to be had, that only a tag names, or that are for other processors."""

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.survey.docker import LocalImage
from tandem.survey.facts import ImageFacts
from tandem.survey.machine import SystemFacts
from tests.builders import DIGEST, findings

TAG = {"image.reference": "registry.example/vllm:1"}
ARM = {"system": SystemFacts(architecture="aarch64")}


def test_a_tag_is_told_with_the_digest_to_pin() -> None:
    (finding,) = findings(changes=TAG)
    assert str(finding) == (
        f"tandem:image.reference: the tag stands for {DIGEST} today; "
        f"pin it: registry.example/vllm@{DIGEST} [tag-not-pinned]"
    )
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("changes", "problem", "code", "severity"),
    [
        (TAG, "manifest unknown", "image-missing", Severity.ERROR),
        (TAG, "unauthorized", "image-missing", Severity.ERROR),
        ({}, "manifest unknown", "image-missing", Severity.ERROR),
        ({}, "not found", "image-missing", Severity.ERROR),
        ({}, "unauthorized", "image-not-seen", Severity.WARNING),
    ],
)
def test_an_image_that_the_registry_does_not_show(
    changes: dict[str, Any], problem: str, code: str, severity: Severity
) -> None:
    (finding,) = findings(changes=changes, image=ImageFacts(problem=problem))
    assert (finding.code, finding.severity) == (code, severity)
    assert problem in finding.message


def test_an_image_for_other_processors_is_refused_for_each_host() -> None:
    seen = ImageFacts(digest=DIGEST, platforms=("linux/amd64",))
    lines = [str(finding) for finding in findings(2, ARM, last=ARM, image=seen)]
    assert lines == [
        f"tandem:image.reference: registry.example/vllm:1@{DIGEST} is made for linux/amd64, and "
        f"host-{number} is linux/arm64; take an image that is made for linux/arm64, too "
        "[image-architecture]"
        for number in (1, 2)
    ]


def test_an_image_for_both_kinds_of_processors_is_fine() -> None:
    seen = ImageFacts(digest=DIGEST, platforms=("linux/amd64", "linux/arm64"))
    assert findings(1, ARM, image=seen) == []


def test_without_the_registry_the_image_on_the_host_tells_what_it_is_made_for() -> None:
    local = LocalImage(id="sha256:1", architecture="amd64", size=1)
    (finding,) = findings(1, ARM | {"image": local})
    assert finding.code == "image-architecture"


def test_an_image_and_a_machine_of_unknown_kind_are_not_compared() -> None:
    machine = {"system": SystemFacts(architecture="riscv64")}
    assert findings(1, machine, image=ImageFacts(digest=DIGEST, platforms=("linux/amd64",))) == []
    assert findings(1, ARM, image=ImageFacts(digest=DIGEST)) == []
