"""From the stack file's keys to Settings, or to findings in plain words."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from tandem.errors import InvalidStack
from tandem.findings import Finding, error
from tandem.settings.stack import Settings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pydantic_core import ErrorDetails

NAMESPACE = "tandem:"

STACKS = Path("stacks")
"""Where stack files are (``stackConfigDir`` of Pulumi.yaml)."""

MANIFESTS = STACKS / "manifests"
"""The files of models, with which every host's files are compared."""

STARTS = STACKS / "starts.json"
"""What starts logged of their memory, which later plans take for what they would assume."""

IMAGES = STACKS / "images"
"""What images hold, a file each, which later plans take where the stack file says nothing."""

_API_KEY = f"{NAMESPACE}apiKey"
_PLAIN_KEY = error(
    "secret-in-plain",
    _API_KEY,
    "the stack file holds it for everybody to read",
    "remove the line, then `pulumi config set --secret tandem:apiKey`",
)

_FORMS: dict[str | int, str] = {
    "ssh": "write an alias, user@host, or ssh://user@host:port",
    "name": "write lower-case letters, digits and dashes",
    "path": "write an absolute path without colon and comma",
    "endpoint": "write an address such as https://hub.example.com, without user and password",
    "interface": "write the name that `ip address` shows, e.g. enp1s0f0np0",
    "vllm": 'write a version in quotes, e.g. "0.19.1"',
    "reference": "write registry/repository:tag@sha256:…",
}
"""What a key with a pattern wants, in words."""


def load_settings(
    config: Mapping[str, str | None], secrets: Collection[str] | None = None
) -> Settings:
    """Read the ``tandem:`` keys of a stack's configuration; values are text or JSON.

    ``secrets`` are the keys that the stack file holds encrypted; None when that is not known.
    Raises InvalidStack with one finding per key that can't be used.
    """
    values = {
        key.removeprefix(NAMESPACE): _value(text)
        for key, text in config.items()
        if key.startswith(NAMESPACE)
    }
    if secrets is not None and _API_KEY in config and _API_KEY not in secrets:
        raise InvalidStack([_PLAIN_KEY])
    try:
        return Settings.model_validate_json(json.dumps(values))
    except ValidationError as invalid:
        raise InvalidStack(_findings(invalid)) from None


def _value(text: str | None) -> Any:
    try:
        return json.loads("null" if text is None else text)
    except json.JSONDecodeError:
        return text


def _findings(invalid: ValidationError) -> list[Finding]:
    findings: dict[str, Finding] = {}
    for problem in invalid.errors(include_url=False):
        finding = _finding(problem)
        # A field with several forms reports each; the user needs one line, and an empty list is
        # the wrong list, whatever the other forms are.
        if finding.path not in findings or problem["type"] == "too_short":
            findings[finding.path] = finding
    # A list whose item is wrong is reported as wrong itself; the item's line says it all.
    return [f for f in findings.values() if not any(_is_inside(path, f.path) for path in findings)]


def _is_inside(path: str, outer: str) -> bool:
    return path.startswith((outer + ".", outer + "["))


def _finding(problem: ErrorDetails) -> Finding:
    location = [part for part in problem["loc"] if not _is_union_branch(part)]
    path = _path(location)
    if problem["type"] == "extra_forbidden":
        return error("unknown-key", path, "this key is not known", _nearest(location))
    if problem["type"] == "missing":
        return error("missing-key", path, "this key is missing", "add it to the stack file")
    if problem["type"] == "string_pattern_mismatch":
        return error(
            "bad-value", path, f"{_shown(problem)} can't be used here", _FORMS[location[-1]]
        )
    return error("bad-value", path, f"{_shown(problem)} can't be used here", _wanted(problem))


def _wanted(problem: ErrorDetails) -> str:
    if problem["type"] in {"too_short", "string_too_short"}:
        return "it must not be empty"
    message = problem["msg"].removeprefix("Value error, ").replace("Input should", "it should")
    return message[0].lower() + message[1:]


def _shown(problem: ErrorDetails) -> str:
    if "apiKey" in problem["loc"]:
        return "its value"
    shown = json.dumps(problem["input"], default=str)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _is_union_branch(part: str | int) -> bool:
    # pydantic names the branch of a union in the location, e.g. "constrained-int" or "tuple[str]".
    return isinstance(part, str) and (part in {"int", "constrained-int"} or "[" in part)


def _path(location: list[str | int]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return NAMESPACE + text


def _nearest(location: list[str | int]) -> str:
    model: type[BaseModel] = Settings
    for part in location[:-1]:
        if isinstance(part, str):
            model = _group(model, part)
    known = [field.alias or name for name, field in model.model_fields.items()]
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f'did you mean "{close[0]}"?' if close else f"known here: {', '.join(known)}"


def _group(model: type[BaseModel], key: str) -> type[BaseModel]:
    for name, field in model.model_fields.items():
        if (field.alias or name) == key:
            candidates = [field.annotation, *getattr(field.annotation, "__args__", ())]
            for candidate in candidates:
                if isinstance(candidate, type) and issubclass(candidate, BaseModel):
                    return candidate
    return model
