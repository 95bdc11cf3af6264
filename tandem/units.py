"""Sizes and durations as people write them in a stack file: ``"119.7GiB"``, ``"45m"``."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

MIB = 1024**2
GIB = 1024**3

_BYTES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTES |= {"KiB": 2**10, "MiB": MIB, "GiB": GIB, "TiB": 2**40}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


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
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]i?B|B)", value.strip())
    if match is None:
        raise ValueError(f'"{value}" is not a size; write bytes, or e.g. "10GiB" or "500MB"')
    return round(float(match[1]) * _BYTES[match[2]])


def parse_seconds(value: object) -> object:
    """Turn ``"45m"`` or ``"1h30m"`` into seconds; numbers pass through.

    Raises ValueError when the text is not a duration.
    """
    if not isinstance(value, str):
        return value
    parts = re.findall(r"(\d+)([smhd])", value)
    if not parts or "".join(number + unit for number, unit in parts) != value.strip():
        raise ValueError(f'"{value}" is not a duration; write seconds, or e.g. "90s" or "1h30m"')
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)


Bytes = Annotated[
    int, BeforeValidator(parse_bytes, json_schema_input_type=int | str), Field(ge=MIB)
]
"""A size of at least 1 MiB in bytes, written as a number or as text with a unit."""

Seconds = Annotated[
    int, BeforeValidator(parse_seconds, json_schema_input_type=int | str), Field(ge=1)
]
"""A duration in seconds, written as a number or as text with a unit."""
