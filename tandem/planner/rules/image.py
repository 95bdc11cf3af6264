"""What the image is known to hold, or to lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, warning
from tandem.planner.vllm.releases import declared_version, is_official, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import Settings

RAY_IS_DROPPED = (0, 18)
"""First release whose package does not require Ray (metadata of 0.17.1 and 0.18.1 on PyPI); the
official images have lost it by 0.19.0 (vllm#33445, lws#835)."""


def ray_in_image(settings: Settings) -> Iterator[Finding]:
    """More than one host needs an image with Ray in it."""
    version = declared_version(settings)
    if not settings.spans_hosts or settings.backend != "ray" or not is_official(settings):
        return
    if version is not None and version >= RAY_IS_DROPPED:
        yield warning(
            "image-without-ray",
            "tandem:image.reference",
            f"official images of vLLM {spoken(version)} come without Ray, and "
            f"{len(settings.hosts)} hosts need it",
            "use an image with Ray: build one FROM it with `pip install ray` in a pinned version",
        )
