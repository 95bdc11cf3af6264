"""Secrets where everybody can read them: a container's variables and its command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tandem.findings import Finding, error
from tandem.planner.masking import looks_secret, names_secret, shown
from tandem.planner.vllm.releases import declared_version, flags_of, full_name
from tandem.planner.vllm.words import ARGS, given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.vllm.words import Given
    from tandem.settings import Settings

_VARIABLE_ENDINGS = ("_TOKEN", "_API_KEY", "_SECRET", "_PASSWORD")
_FLAG_ENDINGS = ("-token", "-api-key", "-secret", "-password")

_REMEDY = "remove it; the model is read from a folder and needs no token"


def in_variables(settings: Settings) -> Iterator[Finding]:
    """No variable holds a secret, going by its name or its value."""
    places = {f"tandem:hosts[{index}].env": host.env for index, host in enumerate(settings.hosts)}
    places["tandem:serve.env"] = settings.serve.env
    for place, env in places.items():
        for name, value in env.items():
            if f"_{name.upper()}".endswith(_VARIABLE_ENDINGS) or looks_secret(value):
                yield error(
                    "secret-in-env",
                    f"{place}.{name}",
                    "this looks like a secret, and `docker inspect` shows a container's variables",
                    _REMEDY,
                )


def in_arguments(settings: Settings) -> Iterator[Finding]:
    """No argument holds a secret: by its flag, by the form of a word, or inside a JSON value.

    vLLM prints its arguments at the start (vllm PR#52523, vllm PR#53625). A finding names the
    flag or the word's position, never the value.
    """
    told: set[int] = set()
    known = flags_of(declared_version(settings))
    for one in given(settings.serve.args):
        if _is_secret(one, full_name(one.flag, known)):
            told |= {one.position, one.value_position}
            yield error(
                "secret-in-args",
                one.path,
                f"{shown(one.flag)} would show a secret in the process list and in the log",
                _REMEDY,
            )
    for index, word in enumerate(settings.serve.args):
        if index not in told and looks_secret(word):
            yield error(
                "secret-in-args",
                f"{ARGS}[{index}]",
                "this word looks like a secret, and everybody can read it in the process list",
                _REMEDY,
            )


def api_key(settings: Settings) -> Iterator[Finding]:
    """The API's key gets to vLLM by a program that is started in the place of vLLM."""
    if settings.api_key is not None and settings.image.entrypoint == "image":
        yield error(
            "api-key-not-passed",
            "tandem:apiKey",
            "the image's own entrypoint can't be given the key without showing it",
            "write what starts vLLM in the image as image.entrypoint, e.g. vllm",
        )


def _is_secret(one: Given, name: str) -> bool:
    """Tell whether a flag's full name or its value gives a secret away."""
    if f"-{name.lstrip('-')}".endswith(_FLAG_ENDINGS):
        return True
    last = one.key.rpartition(".")[2]
    return names_secret(last) or _holds_secret(_parsed(one.value))


def _parsed(text: str | None) -> object:
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        return None


def _holds_secret(value: object) -> bool:
    if isinstance(value, dict):
        pairs = value.items()
        return any((names_secret(key) and inner) or _holds_secret(inner) for key, inner in pairs)
    return isinstance(value, list) and any(map(_holds_secret, value))
