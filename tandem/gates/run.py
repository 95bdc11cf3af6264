"""What every gate does around its work: read the spec, print the result or one clear failure."""

from __future__ import annotations

import io
import json
import sys
from typing import TYPE_CHECKING

from tandem.errors import GateFailed
from tandem.gates.containers import say
from tandem.gates.lifetime import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable


def run_gate(work: Callable[[str], object]) -> int:
    """Call ``work`` with the spec from standard input; return the exit status.

    The result goes to standard output as JSON, a failure to standard error. Ends when whoever
    started the gate goes.
    """
    end_with_parent()
    # Pulumi takes nothing else, whatever the locale (protobuf's strings are UTF-8).
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return answer(work)


def answer(work: Callable[[str], object]) -> int:
    """Do what ``run_gate`` does, in a process that goes on."""
    try:
        print(json.dumps(work(sys.stdin.read()), sort_keys=True))
    except GateFailed as failed:
        say(f"error: {failed}")
        return 1
    return 0
