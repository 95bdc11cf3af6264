"""What an `up` found in the image, as the rules of the next plan take it."""

from __future__ import annotations

from typing import Any

from tandem.findings import Severity
from tandem.planner.assess import assess
from tandem.survey.facts import Facts, ImageContent
from tests.builders import DIGEST, facts, settings

UNKNOWN_FLAG = {"serve.args": ["--no-such-flag"]}


def known(**changes: Any) -> Facts:
    """Return the facts of two healthy hosts whose image was looked into."""
    held = {"digest": DIGEST, "python": "3.12.11", "ray": "2.60.0", "vllm": "0.19.1"} | changes
    images = (ImageContent.model_validate(held),)
    return facts(settings(2)).model_copy(update={"images": images})


def codes(seen: Facts, changes: dict[str, Any] | None = None) -> dict[str, Severity]:
    """Return the findings of two hosts by code."""
    found = assess(settings(2, changes), seen).findings
    return {finding.code: finding.severity for finding in found}


def words(seen: Facts, changes: dict[str, Any]) -> str:
    """Return the messages of all findings of two hosts."""
    return " ".join(finding.message for finding in assess(settings(2, changes), seen).findings)


def test_the_rules_take_the_version_that_is_in_the_image() -> None:
    assert "0.19" not in words(facts(settings(2)), UNKNOWN_FLAG)
    assert "0.19" in words(known(), UNKNOWN_FLAG)


def test_the_declared_version_comes_first() -> None:
    declared = UNKNOWN_FLAG | {"image.vllm": "0.22.0"}
    assert "0.22" in words(known(), declared)
    assert "0.19" not in words(known(), declared)


def test_what_another_image_held_says_nothing() -> None:
    other = known(digest="sha256:" + "b" * 64, ray=None)
    assert codes(other) == codes(facts(settings(2)))
    assert "0.19" not in words(other, UNKNOWN_FLAG)


def test_an_image_that_was_found_without_ray_is_an_error_before_anything_is_pulled() -> None:
    assert codes(known(ray=None))["image-without-ray"] is Severity.ERROR
    assert "image-without-ray" not in codes(known())


def test_a_single_host_needs_no_ray_in_its_image() -> None:
    single = facts(settings(1)).model_copy(update={"images": known(ray=None).images})
    assert [found.code for found in assess(settings(1), single).findings] == []


def test_a_mirror_with_ray_in_it_is_no_warning() -> None:
    official = {"image.reference": f"registry.example/vllm/vllm-openai:v0.19.1@{DIGEST}"}
    assert codes(facts(settings(2)), official)["image-without-ray"] is Severity.WARNING
    assert "image-without-ray" not in codes(known(), official)
