"""What a registry says of an image, asked through a host's Docker."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from tandem.survey.docker import DockerFacts, LocalImage
from tandem.survey.facts import HostFacts, ImageFacts
from tandem.survey.machine import SystemFacts
from tandem.survey.registry import image_facts
from tests.builders import DIGEST, settings

if TYPE_CHECKING:
    from tandem.settings import ImageSettings
    from tandem.ssh import SshTarget

TAG = {"image.reference": "registry.example/vllm:1"}
BOTH = [
    {"architecture": "amd64", "os": "linux"},
    {"architecture": "arm64", "os": "linux"},
    {"architecture": "unknown", "os": "unknown"},
]
ARM = HostFacts(name="a", system=SystemFacts(architecture="aarch64"))


@dataclass
class Host:
    """A host whose Docker gives these answers, and remembers what it was asked."""

    distribution: object
    manifests: dict[str, object] = field(default_factory=dict)
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def run(
        self, *command: str, stdin: str = "", timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Answer like SshTarget.run."""
        self.asked.append(command)
        manifest = self.manifests.get(command[-1])
        text = json.dumps(manifest) if manifest else "no such manifest"
        return subprocess.CompletedProcess(command, 0 if manifest else 1, text, "")


def ask(host: Host, seen: HostFacts, reference: dict[str, str] | None = None) -> ImageFacts:
    """Ask the host for the image of a stack file."""

    def answer(_: SshTarget, image: ImageSettings) -> object:
        host.asked.append((image.reference,))
        return host.distribution

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tandem.survey.registry.ask_registry", answer)
        return image_facts(cast("SshTarget", host), settings(1, reference or TAG).image, seen)


def test_the_layers_of_the_hosts_own_platform_are_added_up() -> None:
    described = {"Descriptor": {"digest": DIGEST}, "Platforms": BOTH}
    index = {
        "manifests": [
            {"digest": "sha256:1", "platform": {"architecture": "amd64"}},
            {"digest": "sha256:2", "platform": {"architecture": "arm64"}},
        ]
    }
    layers = {"layers": [{"size": 100}, {"size": 23}]}
    name = "registry.example/vllm@"
    host = Host(described, {name + DIGEST: index, name + "sha256:2": layers})
    assert ask(host, ARM) == ImageFacts(
        digest=DIGEST, platforms=("linux/amd64", "linux/arm64"), layers_bytes=123
    )


def test_only_a_registry_that_docker_trusts_without_tls_is_asked_so() -> None:
    host = Host({"Descriptor": {"digest": DIGEST}})
    ask(host, ARM)
    assert "--insecure" not in host.asked[-1]
    trusting = DockerFacts(insecure_registries=("registry.example",))
    ask(host, ARM.model_copy(update={"docker": trusting}))
    assert "--insecure" in host.asked[-1]


def test_a_registry_that_hides_its_manifests_leaves_the_size_unknown() -> None:
    assert ask(Host({"Descriptor": {"digest": DIGEST}}), ARM).layers_bytes is None


@pytest.mark.parametrize("said", ["manifest unknown", "unauthorized"])
def test_what_the_registry_refuses_is_kept_in_its_words(said: str) -> None:
    assert ask(Host({"message": f"{said}\n"}), ARM) == ImageFacts(problem=said)


def test_an_image_by_digest_that_is_on_the_host_needs_no_registry() -> None:
    host = Host({})
    names = frozenset([f"vllm@{DIGEST}"])
    local = LocalImage(id="sha256:1", architecture="arm64", size=1, names=names)
    seen = ARM.model_copy(update={"images": (local,)})
    assert ask(host, seen, {"image.reference": f"vllm:1@{DIGEST}"}) == ImageFacts(digest=DIGEST)
    assert host.asked == []
