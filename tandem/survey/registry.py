"""Ask the registry, through a host's own Docker, what an image reference stands for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tandem.survey.docker import ARCHITECTURES
from tandem.survey.docker_api import DockerApi, DockerSilent
from tandem.survey.facts import ImageFacts

if TYPE_CHECKING:
    from tandem.settings import ImageSettings
    from tandem.ssh import SshTarget
    from tandem.survey.facts import HostFacts

TIMEOUT_SECONDS = 60
"""How long the registry may take to answer."""


def image_facts(target: SshTarget, image: ImageSettings, host: HostFacts) -> ImageFacts:
    """Return what the host's Docker finds of ``image``, on the host itself or in the registry."""
    if image.digest and host.image_named(f"{image.repository}@{image.digest}"):
        return ImageFacts(digest=image.digest)
    answer = ask_registry(target, image)
    if "Descriptor" not in answer:
        return ImageFacts(problem=str(answer["message"]).strip())
    digest = answer["Descriptor"]["digest"]
    is_there = host.image_named(f"{image.repository}@{digest}") is not None
    return ImageFacts(
        digest=digest,
        platforms=_platforms(answer.get("Platforms")),
        layers_bytes=None if is_there else _layers(target, image.repository, digest, host),
    )


def tag_digest(target: SshTarget, image: ImageSettings) -> str | None:
    """Return the digest that the registry names for ``image``, or None when it names none."""
    digest: str | None = ask_registry(target, image).get("Descriptor", {}).get("digest")
    return digest


def _platforms(listed: list[dict[str, str]] | None) -> tuple[str, ...]:
    pairs = {(entry.get("os", ""), entry.get("architecture", "")) for entry in listed or []}
    # Build attestations are listed as a platform "unknown/unknown".
    named = {pair for pair in pairs if all(pair) and "unknown" not in pair}
    return tuple(sorted("/".join(pair) for pair in named))


def _layers(target: SshTarget, repository: str, digest: str, host: HostFacts) -> int | None:
    """Return the bytes of the layers for the host's platform; None when the registry is silent."""
    is_insecure = repository.partition("/")[0] in host.docker.insecure_registries
    command = ("docker", "manifest", "inspect", *(("--insecure",) if is_insecure else ()))
    manifest = _json(target, *command, f"{repository}@{digest}")
    architecture = ARCHITECTURES.get(host.system.architecture or "")
    for entry in manifest.get("manifests", []):
        if entry.get("platform", {}).get("architecture") == architecture:
            manifest = _json(target, *command, f"{repository}@{entry['digest']}")
            break
    return sum(layer["size"] for layer in manifest.get("layers", [])) or None


def _json(target: SshTarget, *command: str) -> dict[str, Any]:
    answer = target.run(*command, timeout=TIMEOUT_SECONDS)
    try:
        data = json.loads(answer.stdout)
    except json.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}


def ask_registry(target: SshTarget, image: ImageSettings) -> dict[str, Any]:
    """Return what a host's Docker finds of an image in the registry, or a ``message``."""
    try:
        with DockerApi(target, TIMEOUT_SECONDS) as docker:
            answer: dict[str, Any] = docker.get(f"/distribution/{image.reference}/json")
    except DockerSilent as silent:
        return {"message": f"asking the registry: {silent}"}
    return answer
