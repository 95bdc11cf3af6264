"""What the image is known to hold, or to lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, warning
from tandem.planner.releases import Release, declared_release, is_official

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import Settings

RAY_IS_DROPPED = Release(0, 18)
"""First release whose package does not require Ray (metadata of 0.17.1 and 0.18.1 on PyPI); the
official images have lost it by 0.19.0 (vllm#33445, lws#835)."""


def ray_in_image(settings: Settings) -> Iterator[Finding]:
    """More than one host needs an image with Ray in it."""
    release = declared_release(settings)
    if not settings.spans_hosts or settings.backend != "ray" or not is_official(settings):
        return
    if release is not None and release >= RAY_IS_DROPPED:
        yield warning(
            "image-without-ray",
            "tandem:image.reference",
            f"official images of vLLM {release} come without Ray, and {len(settings.hosts)} hosts "
            "need it",
            "use an image with Ray: build one FROM it with `pip install ray` in a pinned version",
        )
