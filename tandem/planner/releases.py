"""Releases of vLLM: which one a stack runs, and which flags and parsers that release knows."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tandem.settings import Settings

OFFICIAL_IMAGE = "vllm/vllm-openai"
"""The image of vLLM's own project on Docker Hub; its tags are versions."""

_VERSION = re.compile(r"v?(\d+)\.(\d+)\b.*")


@dataclass(frozen=True, order=True)
class Release:
    """A minor release of vLLM, e.g. 0.19."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True)
class Names:
    """What a release of vLLM knows by name."""

    flags: frozenset[str]
    """Flags of ``vllm serve`` with their dashes; not their ``--no-`` forms."""
    tool_parsers: frozenset[str]
    reasoning_parsers: frozenset[str]


def declared_release(settings: Settings) -> Release | None:
    """Return the release that ``image.vllm`` or the official image's tag names, else None."""
    image = settings.image
    if image.vllm is not None:
        return _release(image.vllm)
    tag = image.reference.partition("@")[0].removeprefix(image.repository).removeprefix(":")
    return _release(tag) if is_official(settings) else None


def is_official(settings: Settings) -> bool:
    """Tell whether the image is vLLM's own, or a mirror of it under the same name."""
    return f"/{settings.image.repository}".endswith(f"/{OFFICIAL_IMAGE}")


@functools.cache
def known_names() -> dict[Release, Names]:
    """Return the names by release, in rising order.

    Source: ``vllm_names.json``, which ``tools/vllm_names.py`` reads out of vLLM's source
    distributions (vllm/engine/arg_utils.py, the front end's cli_args.py, vllm/tool_parsers,
    vllm/reasoning).
    """
    text = resources.files("tandem.planner").joinpath("vllm_names.json").read_text("utf-8")
    releases: dict[Release, Names] = {}
    known = Names(frozenset(), frozenset(), frozenset())
    for step in json.loads(text):
        known = Names(
            _after(known.flags, step["flags"]),
            _after(known.tool_parsers, step["toolParsers"]),
            _after(known.reasoning_parsers, step["reasoningParsers"]),
        )
        if release := _release(step["release"]):
            releases[release] = known
    return releases


def names_of(release: Release | None) -> Names | None:
    """Return what a release knows, or None when its names have not been read."""
    return known_names().get(release) if release else None


def _after(before: frozenset[str], step: dict[str, Any]) -> frozenset[str]:
    return before - set(step["gone"]) | set(step["added"])


def _release(version: str) -> Release | None:
    match = _VERSION.fullmatch(version)
    return Release(int(match[1]), int(match[2])) if match else None
