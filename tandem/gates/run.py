"""What every gate does around its work: read the spec, print the result or one clear failure."""

from __future__ import annotations

import json
import signal
import sys
from typing import TYPE_CHECKING

from tandem.errors import GateFailed

if TYPE_CHECKING:
    from collections.abc import Callable


def run_gate(work: Callable[[str], object]) -> int:
    """Call ``work`` with the spec from standard input; return the exit status.

    The result goes to standard output as JSON, a failure to standard error.
    """
    # Pulumi's cancel sends TERM, a terminal INT; leaving by an exception ends the ssh that is
    # running, too.
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, lambda number, _: sys.exit(128 + number))
    try:
        print(json.dumps(work(sys.stdin.read()), sort_keys=True))
    except GateFailed as failed:
        print(f"error: {failed}", file=sys.stderr)
        return 1
    return 0
