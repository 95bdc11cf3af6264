"""The image: whether it can be had, and for the hosts' processors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings
    from tandem.survey.facts import ImageFacts

PATH = "tandem:image.reference"

_PLATFORMS = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}
"""Platforms as images name them, by what ``uname -m`` says."""


def check_image(settings: Settings, seen: ImageFacts) -> Iterator[Finding]:
    """Yield an image that is not to be had, or that only a tag names."""
    reference = settings.image.reference
    if seen.digest is None:
        is_absent = any(word in str(seen.problem) for word in ("not found", "unknown"))
        if settings.image.digest is not None and not is_absent:
            # A private registry may refuse the question and still allow the pull.
            yield warning(
                "image-not-seen", PATH, f"{reference}: {seen.problem}", "the pull decides"
            )
        else:
            yield error(
                "image-missing",
                PATH,
                f"{reference} is not to be had: {seen.problem}",
                "correct the reference, or pull it on every host",
            )
    elif settings.image.digest is None:
        yield warning(
            "tag-not-pinned",
            PATH,
            f"the tag stands for {seen.digest} today",
            f"pin it: {settings.image.repository}@{seen.digest}",
        )


def check_platforms(
    settings: Settings, hosts: Iterable[Place], seen: ImageFacts
) -> Iterator[Finding]:
    """Yield hosts that the image is not made for (vllm#30076: "exec format error")."""
    for host in hosts:
        machine = host.seen.system.architecture or ""
        platform = _PLATFORMS.get(machine)
        offered = seen.platforms
        if not offered and host.seen.image and host.seen.image.architecture:
            offered = (f"linux/{host.seen.image.architecture}",)
        if platform and offered and platform not in offered:
            yield error(
                "image-architecture",
                PATH,
                f"{settings.image.reference} is made for {', '.join(offered)}, and {host.name} is "
                f"{platform}",
                f"take an image that is made for {platform}, too",
            )
