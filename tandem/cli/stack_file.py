"""A stack file, read as Pulumi reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tandem.errors import InvalidStack
from tandem.findings import error
from tandem.settings import STACKS, Settings, load_settings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
"""The loader in C is much faster, and not everywhere there."""

SECRET = "(secret)"
"""What stands in the settings for a value that is encrypted in the stack file."""


@dataclass(frozen=True)
class StackFile:
    """The settings of one stack, and where they came from."""

    name: str
    folder: Path
    settings: Settings


def add_stack_arguments(parser: argparse.ArgumentParser, json_help: str) -> None:
    """Declare the words of every command on a stack: its file, and whether JSON is printed."""
    parser.add_argument("stack", metavar="STACKFILE", help="a path, or the name of a stack")
    parser.add_argument("--json", action="store_true", help=json_help)


def read_stack_file(given: str, changes: Sequence[str] = ()) -> StackFile:
    """Read the file of a stack, given by its path or the stack's name.

    ``changes`` are words like ``serve.maxModelLen=32768``, laid over the file. Raises
    InvalidStack when there is no such file or a key can't be used.
    """
    path = _path(given)
    config = _config(path)
    for change in changes:
        _lay_over(config, change)
    values = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in _sealed(config).items()
    }
    return StackFile(_stack_name(path), path.parent, load_settings(values))


def _path(given: str) -> Path:
    named = STACKS / f"Pulumi.{given}.yaml"
    for path in (Path(given), named):
        if path.is_file():
            return path
    known = sorted(_stack_name(path) for path in STACKS.glob("Pulumi.*.yaml"))
    raise _invalid(
        "no-stack-file",
        given,
        f"there is neither this file nor {named}",
        f"known here: {', '.join(known) or 'none'}",
    )


def _stack_name(path: Path) -> str:
    return path.name.removeprefix("Pulumi.").removesuffix(".yaml")


def _config(path: Path) -> dict[str, Any]:
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), LOADER)
    except (yaml.YAMLError, UnicodeDecodeError) as problem:
        words = " ".join(str(problem).split())
        raise _invalid("not-yaml", str(path), words, "correct it") from None
    config = data.get("config") if isinstance(data, dict) else None
    if not isinstance(config, dict):
        words = "there is no mapping `config:`"
        raise _invalid("no-config", str(path), words, "add it, with tandem: keys")
    return {str(key): _opened(value) for key, value in config.items()}


def _opened(value: Any) -> Any:
    """Return a value with a word in the place of an encrypted one, which nobody here can read."""
    is_secret = isinstance(value, dict) and value.keys() == {"secure"}
    return "encrypted" if is_secret else value


def _sealed(value: Any) -> Any:
    """Put a word in the place of secrets, which only Pulumi can open: ``{secure: …}``."""
    if isinstance(value, dict):
        if value.keys() == {"secure"}:
            return SECRET
        return {key: _sealed(inner) for key, inner in value.items()}
    return [_sealed(inner) for inner in value] if isinstance(value, list) else value


def _lay_over(config: dict[str, Any], change: str) -> None:
    """Set one key, e.g. ``hosts.0.gpus=2``; an empty value removes it."""
    key, equals, text = change.partition("=")
    first, *rest = key.removeprefix("tandem:").split(".")
    if not equals or not first:
        words = f'"{change}" is no KEY=VALUE'
        raise _invalid("bad-change", "--set", words, "write e.g. serve.maxModelLen=32768")
    place: Any = config
    parts: list[str | int] = [f"tandem:{first}", *(int(p) if p.isdigit() else p for p in rest)]
    try:
        for part in parts[:-1]:
            place = place.setdefault(part, {}) if isinstance(place, dict) else place[part]
        if text:
            place[parts[-1]] = yaml.safe_load(text)
        else:
            del place[parts[-1]]
    except (TypeError, LookupError, yaml.YAMLError):
        words = f"{key} can't be set to {text!r}"
        raise _invalid("bad-change", "--set", words, "see docs/keys.md") from None


def _invalid(code: str, path: str, message: str, fix: str) -> InvalidStack:
    return InvalidStack([error(code, path, message, fix)])
