"""Logs as Docker prints them, of hosts named a, b and c."""

from __future__ import annotations

import re
from typing import Any

from tandem.gates.first_cause import ContainerLog, FirstCause, first_cause

DAY = "2026-11-30"
_TIME = re.compile(r"^(\d\d:\d\d:\d\d)\.(\d{3}) ", re.MULTILINE)


def docker_log(host: str, text: str, role: str = "server", **known: Any) -> ContainerLog:
    """Return a log whose lines begin with a time of the day, as Docker prints it."""
    printed = _TIME.sub(rf"{DAY}T\1.\g<2>000000Z ", text).replace("ESC", "\x1b")
    return ContainerLog(**{"host": host, "text": printed, **known})


def cause_of(*texts: str) -> FirstCause | None:
    """Return the first cause of the logs of hosts a, b and so on."""
    return first_cause([docker_log(host, text) for host, text in zip("abc", texts, strict=False)])


def traceback(at: str, error: str, process: str = "", frame: str = "work") -> str:
    """Return the lines of a traceback."""
    lines = ("Traceback (most recent call last):", f'  File "/x/y.py", line 7, in {frame}', error)
    return "".join(f"{at}.000 {process}{line}\n" for line in lines)
