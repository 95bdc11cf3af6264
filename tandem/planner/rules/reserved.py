"""Flags and variables that Tandem sets itself, from other keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error
from tandem.planner import arguments, environment
from tandem.planner.backends import reserved_flags, reserved_variables
from tandem.planner.vllm.releases import declared_version, flags_of, full_name
from tandem.planner.vllm.words import given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import Settings


def variables(settings: Settings) -> Iterator[Finding]:
    """No variable is set twice."""
    places = {f"tandem:hosts[{index}].env": host.env for index, host in enumerate(settings.hosts)}
    places["tandem:serve.env"] = settings.serve.env
    reserved = environment.RESERVED | reserved_variables()
    if settings.image.entrypoint == "image":
        reserved |= dict.fromkeys(environment.IMAGE_VARIABLES, "the keys of tandem:serve")
    for place, env in places.items():
        for name in env:
            if name in reserved:
                path = f"{place}.{name}"
                yield error(
                    "reserved-variable", path, "Tandem sets this variable", f"use {reserved[name]}"
                )


def flags(settings: Settings) -> Iterator[Finding]:
    """No flag is given twice."""
    known = flags_of(declared_version(settings))
    reserved = arguments.RESERVED | reserved_flags()
    for one in given(settings.serve.args):
        name = full_name(one.flag, known)
        if name in reserved:
            yield error(
                "reserved-argument",
                one.path,
                f"{name} is decided by {reserved[name]}",
                "set that key instead",
            )
