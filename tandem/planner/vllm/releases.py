"""Releases of vLLM: which one a stack runs, and which flags and parsers that release knows."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from tandem.planner.vllm.versions import Version, read_version

if TYPE_CHECKING:
    from tandem.settings import Settings

OFFICIAL_IMAGE = "vllm/vllm-openai"
"""The image of vLLM's own project on Docker Hub; its tags are versions."""


@dataclass(frozen=True)
class Names:
    """What a release of vLLM knows by name."""

    flags: frozenset[str]
    """Flags of ``vllm serve`` with their dashes; not their ``--no-`` forms."""
    tool_parsers: frozenset[str]
    reasoning_parsers: frozenset[str]


def declared_version(settings: Settings) -> Version | None:
    """Return the version that ``image.vllm`` or the official image's tag names, else None."""
    image = settings.image
    if image.vllm is not None:
        return read_version(image.vllm)
    tag = image.reference.partition("@")[0].removeprefix(image.repository).removeprefix(":")
    return read_version(tag.removeprefix("v")) if is_official(settings) else None


def is_official(settings: Settings) -> bool:
    """Tell whether the image is vLLM's own, or a mirror of it under the same name."""
    return f"/{settings.image.repository}".endswith(f"/{OFFICIAL_IMAGE}")


@functools.cache
def known_names() -> dict[Version, Names]:
    """Return the names by release, in rising order.

    Source: ``names.json``, which ``tools/vllm_names.py`` reads out of vLLM's source
    distributions (vllm/engine/arg_utils.py, the front end's cli_args.py, vllm/tool_parsers,
    vllm/reasoning).
    """
    text = resources.files("tandem.planner.vllm").joinpath("names.json").read_text("utf-8")
    releases: dict[Version, Names] = {}
    known = Names(frozenset(), frozenset(), frozenset())
    for step in json.loads(text):
        known = Names(
            _after(known.flags, step["flags"]),
            _after(known.tool_parsers, step["toolParsers"]),
            _after(known.reasoning_parsers, step["reasoningParsers"]),
        )
        if release := read_version(step["release"]):
            releases[release] = known
    return releases


def spoken(version: Version) -> str:
    """Return a version as people write it, e.g. ``0.19``."""
    return ".".join(map(str, version))


def names_of(version: Version | None) -> Names | None:
    """Return what a version knows, or None when its names have not been read."""
    return known_names().get(version) if version else None


def likely_names(version: Version | None) -> list[Names]:
    """Return the names of a version, or those of each one that was read when it is none of them."""
    names = names_of(version)
    return [names] if names else list(known_names().values())


def flags_of(version: Version | None) -> frozenset[str]:
    """Return the flags that a version knows or, when its names have not been read, may know."""
    return frozenset().union(*(names.flags for names in likely_names(version)))


def full_name(flag: str, known: frozenset[str]) -> str:
    """Return the flag that argparse takes an unambiguous beginning for, e.g. of ``--api-k``."""
    if flag in known or not flag.startswith("--"):
        return flag
    longer = [name for name in known if name.startswith(flag)]
    return longer[0] if len(longer) == 1 else flag


def _after(before: frozenset[str], step: dict[str, Any]) -> frozenset[str]:
    return before - set(step["gone"]) | set(step["added"])
