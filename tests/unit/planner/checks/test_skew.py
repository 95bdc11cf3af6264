"""Versions that differ between hosts."""

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.survey.docker import DockerFacts, LocalImage
from tandem.survey.machine import SystemFacts
from tests.builders import findings, gpu


def image(identity: str, storage: str = "overlay2") -> dict[str, Any]:
    """Return facts of a host on which the tag stands for the image with this id."""
    docker = DockerFacts(version="29.1.3", gpu_ways=("hook",), storage=storage)
    names = frozenset(["registry.example/vllm:1"])
    local = LocalImage(id=identity, architecture="amd64", size=1, names=names)
    return {"images": (local,), "docker": docker}


@pytest.mark.parametrize(
    ("first", "last", "code", "words"),
    [
        (
            {"gpus": (gpu(driver="580.95.05"),)},
            {"gpus": (gpu(driver="570.12"),)},
            "driver-skew",
            "580.95.05 on host-1, 570.12 on host-2",
        ),
        (
            {"system": SystemFacts(kernel="6.11.0-1016-nvidia")},
            {"system": SystemFacts(kernel="6.14.0-1013-nvidia")},
            "kernel-skew",
            "6.11.0-1016-nvidia on host-1, 6.14.0-1013-nvidia on host-2",
        ),
        (
            {},
            {"docker": DockerFacts(version="28.5.1", gpu_ways=("hook",))},
            "docker-skew",
            "29.1.3 on host-1, 28.5.1 on host-2",
        ),
        (image("sha256:1"), image("sha256:2"), "image-skew", "sha256:1 on host-1, sha256:2"),
    ],
)
def test_is_a_warning_with_both_values(
    first: dict[str, Any], last: dict[str, Any], code: str, words: str
) -> None:
    (finding,) = findings(2, first, last=last)
    assert (finding.code, finding.severity) == (code, Severity.WARNING)
    assert words in finding.message


def test_processors_of_different_kinds_are_refused() -> None:
    first = {"system": SystemFacts(architecture="x86_64")}
    last = {"system": SystemFacts(architecture="aarch64")}
    (finding,) = findings(2, first, last=last)
    assert (finding.code, finding.severity) == ("architecture-skew", Severity.ERROR)
    assert "x86_64 on host-1, aarch64 on host-2" in finding.message


def test_ids_of_images_are_compared_under_one_storage_driver_alone() -> None:
    assert findings(2, image("sha256:1"), last=image("sha256:2", "overlayfs")) == []


def test_what_was_not_seen_does_not_differ() -> None:
    assert findings(2, {"system": SystemFacts(kernel="6.1")}, last={"gpus": ()}) == []
