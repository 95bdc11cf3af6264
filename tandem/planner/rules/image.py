"""What the image is known to hold, or to lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.planner.vllm.releases import declared_version, is_official, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import Settings
    from tandem.survey.facts import ImageContent

PATH = "tandem:image.reference"

RAY_IS_DROPPED = (0, 18)
"""First release whose package does not require Ray (metadata of 0.17.1 and 0.18.1 on PyPI); the
official images have lost it by 0.19.0 (vllm#33445, lws#835)."""

_WAY = "use an image with Ray: build one FROM it with `pip install ray` in a pinned version"


def ray_in_image(settings: Settings, held: ImageContent | None) -> Iterator[Finding]:
    """More than one host needs an image with Ray in it; ``held`` is what it is known to hold."""
    if not settings.spans_hosts or settings.backend != "ray":
        return
    version = declared_version(settings)
    if held is not None and held.ray is None:
        words = f"{settings.image.reference} was looked into and has no Ray"
        yield error("image-without-ray", PATH, f"{words}, and {_hosts_need_it(settings)}", _WAY)
    elif held is None and is_official(settings) and version and version >= RAY_IS_DROPPED:
        words = f"official images of vLLM {spoken(version)} come without Ray"
        yield warning("image-without-ray", PATH, f"{words}, and {_hosts_need_it(settings)}", _WAY)


def _hosts_need_it(settings: Settings) -> str:
    return f"{len(settings.hosts)} hosts need it"
