"""How the program ends when the engine stops it."""

from __future__ import annotations

import os
import signal
import sys
from types import TracebackType

import pulumi

from tandem.gates.lifetime import end_what_was_started


def end_quietly_when_stopped() -> None:
    """Print no traceback when the engine stops the program: the engine has said why.

    After a failed resource the engine closes its connection, on which the SDK raises RunError, and
    then interrupts the program. Any other exception is printed as ever.
    """
    sys.excepthook = _print_unless_stopped
    signal.signal(signal.SIGINT, _stop)


def _stop(*_: object) -> None:
    # A connection to a host that is silent would stay.
    end_what_was_started()
    os._exit(128 + signal.SIGINT)


def _print_unless_stopped(
    kind: type[BaseException], value: BaseException, trace: TracebackType | None
) -> None:
    if not issubclass(kind, pulumi.RunError):
        sys.__excepthook__(kind, value, trace)
