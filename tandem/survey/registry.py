"""Ask the registry, through a host's own Docker, which digest an image reference stands for."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

from tandem.survey.facts import ImageFacts

if TYPE_CHECKING:
    from tandem.settings import ImageSettings
    from tandem.ssh import SshTarget

TIMEOUT_SECONDS = 60
"""How long the registry may take to answer."""


def image_facts(target: SshTarget, image: ImageSettings) -> ImageFacts:
    """Return the digest of ``image`` as the host's Docker finds it, locally or in the registry."""
    if image.digest and _is_present(target, f"{image.repository}@{image.digest}"):
        return ImageFacts(digest=image.digest)
    try:
        answer = _get(target, f"/distribution/{image.reference}/json")
    except subprocess.TimeoutExpired:
        return ImageFacts(problem=f"the registry did not answer within {TIMEOUT_SECONDS} s")
    if "Descriptor" in answer:
        return ImageFacts(digest=answer["Descriptor"]["digest"])
    return ImageFacts(problem=str(answer.get("message", "no answer")).strip())


def _is_present(target: SshTarget, name: str) -> bool:
    try:
        found = target.run("docker", "image", "inspect", name, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return found.returncode == 0


def _get(target: SshTarget, path: str) -> dict[str, dict[str, str]]:
    """Return what Docker's API answers, over the same road as docker's own ``ssh://``."""
    request = f"GET {path} HTTP/1.0\r\nHost: docker\r\n\r\n"
    command = ("docker", "system", "dial-stdio")
    answer = target.run(*command, stdin=request, timeout=TIMEOUT_SECONDS)
    body = answer.stdout.replace("\r\n", "\n").partition("\n\n")[2]
    try:
        data: dict[str, dict[str, str]] = json.loads(body)
    except json.JSONDecodeError:
        data = {}
    return data
