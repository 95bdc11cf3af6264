"""Sizes and durations as people write them in a stack file: ``"119.7GiB"``, ``"45m"``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1024**2
GIB = 1024**3

_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTES |= {"KiB": 2**10, "MiB": MIB, "GiB": GIB, "TiB": 2**40}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

_SIZE = r"^\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B|B)\s*$"
_DURATION = r"^\s*(?:\d+[smhd])+\s*$"


def divide_up(number: int, by: int) -> int:
    """Return the quotient of two whole numbers, rounded up."""
    return -(number // -by)


def gib(size: int) -> str:
    """Write a size in GiB with two digits, as vLLM's log does."""
    return f"{size / GIB:.2f} GiB"


def parse_bytes(value: object) -> object:
    """Turn ``"119.7GiB"`` into bytes; numbers pass through.

    Raises ValueError when the text is not a size.
    """
    if not isinstance(value, str):
        return value
    match = re.fullmatch(_SIZE, value)
    if match is None:
        raise ValueError(f'"{value}" is not a size; write bytes, or e.g. "10GiB" or "500MB"')
    return round(float(match[1]) * _BYTES[match[2]])


def parse_seconds(value: object) -> object:
    """Turn ``"45m"`` or ``"1h30m"`` into seconds; numbers pass through.

    Raises ValueError when the text is not a duration.
    """
    if not isinstance(value, str):
        return value
    if not re.fullmatch(_DURATION, value):
        raise ValueError(f'"{value}" is not a duration; write seconds, or e.g. "90s" or "1h30m"')
    return sum(int(n) * _SECONDS[unit] for n, unit in re.findall(r"(\d+)([smhd])", value))


def spell_bytes(size: int) -> str:
    """Write a size in the largest binary unit that needs no fraction: ``"10GiB"``."""
    unit = next(unit for unit in ("TiB", "GiB", "MiB", "KiB", "B") if size % _BYTES[unit] == 0)
    return f"{size // _BYTES[unit]}{unit}"


def spell_seconds(seconds: int) -> str:
    """Write a duration in the largest unit that needs no fraction: ``"45m"``."""
    unit = next(unit for unit in ("d", "h", "m", "s") if seconds % _SECONDS[unit] == 0)
    return f"{seconds // _SECONDS[unit]}{unit}"


def default_in_schema(spell: Callable[[Any], str]) -> Callable[[dict[str, Any]], None]:
    """Return what makes a JSON schema show a field's default as people write it."""

    def change(schema: dict[str, Any]) -> None:
        if "default" in schema:
            schema["default"] = spell(schema["default"])

    return change


Bytes = Annotated[
    int,
    BeforeValidator(parse_bytes),
    Field(ge=MIB, json_schema_extra=default_in_schema(spell_bytes)),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": MIB}, {"type": "string", "pattern": _SIZE}]}
    ),
]
"""A size of at least 1 MiB in bytes, written as a number or as text with a unit."""

Seconds = Annotated[
    int,
    BeforeValidator(parse_seconds),
    Field(ge=1, json_schema_extra=default_in_schema(spell_seconds)),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _DURATION}]}
    ),
]
"""A duration in seconds, written as a number or as text with a unit."""
