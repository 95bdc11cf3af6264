"""Ask the registry, through a host's own Docker, which digest an image reference stands for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tandem.ssh import last_line
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
    answer = _get(target, f"/distribution/{image.reference}/json")
    if "Descriptor" in answer:
        return ImageFacts(
            digest=answer["Descriptor"]["digest"], platforms=_platforms(answer.get("Platforms"))
        )
    return ImageFacts(problem=str(answer["message"]).strip())


def _platforms(listed: list[dict[str, str]] | None) -> tuple[str, ...]:
    pairs = {(entry.get("os", ""), entry.get("architecture", "")) for entry in listed or []}
    # Build attestations are listed as a platform "unknown/unknown".
    named = {pair for pair in pairs if all(pair) and "unknown" not in pair}
    return tuple(sorted("/".join(pair) for pair in named))


def _is_present(target: SshTarget, name: str) -> bool:
    return target.run("docker", "image", "inspect", name, timeout=TIMEOUT_SECONDS).returncode == 0


def _get(target: SshTarget, path: str) -> dict[str, Any]:
    """Return what Docker's API answers, over the same road as docker's own ``ssh://``."""
    request = f"GET {path} HTTP/1.0\r\nHost: docker\r\n\r\n"
    command = ("docker", "system", "dial-stdio")
    answer = target.run(*command, stdin=request, timeout=TIMEOUT_SECONDS)
    body = answer.stdout.replace("\r\n", "\n").partition("\n\n")[2]
    try:
        data: dict[str, Any] = json.loads(body)
    except json.JSONDecodeError:
        return {"message": f"asking the registry: {last_line(answer.stderr) or 'no answer'}"}
    return data
