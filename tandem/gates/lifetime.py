"""A gate ends when its parent goes, and what it has started ends with it.

To end a command, Pulumi's plugin kills its direct child and waits until nobody holds the command's
pipes (pulumi-command 1.2.1, local/commandController.go). Where ``/bin/sh`` is dash, that child is
the shell: the gate has to notice by itself. Where it is bash, which execs, the child is the gate: a
guard beside it ends its ssh.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import time
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

CHECK_SECONDS = 0.5
"""How often a gate looks for its parent."""

GRACE_SECONDS = 2
"""How long a gate that was stopped may take to end; what it has started has half of that."""

_STOPS = (signal.SIGTERM, signal.SIGINT)


def end_with_parent() -> None:
    """Make this process end when its parent does, or at SIGTERM and SIGINT, with all it started.

    It then leads a process group of its own. From a terminal it stays in the shell's: Ctrl-C
    reaches everything there.
    """
    parent = os.getppid()
    for stop in _STOPS:
        signal.signal(stop, _stop)
    if not sys.stderr.isatty():
        if os.getpgrp() != os.getpid():
            os.setpgid(0, 0)
        _start_guard()
        # It may have gone before this line.
        if _is_adopted(parent):
            os.kill(os.getpid(), signal.SIGTERM)
    Thread(target=_watch, args=[parent], daemon=True).start()


def end_what_was_started() -> None:
    """Send SIGTERM to the process group that this process leads, but not to itself."""
    if os.getpgrp() == os.getpid():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)


def _is_adopted(parent: int) -> bool:
    """Tell whether a process is not what started this one: what adopts others started earlier."""
    try:
        return parent == 1 or os.getsid(parent) != os.getsid(0)
    except ProcessLookupError:
        return True


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(CHECK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _stop(number: int, _: FrameType | None) -> None:
    for stop in _STOPS:
        signal.signal(stop, signal.SIG_IGN)
    # Leaving waits for threads, and a thread may wait for a host that is silent.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(GRACE_SECONDS)
    end_what_was_started()
    sys.exit(128 + number)


def _start_guard() -> None:
    theirs, ours = os.pipe()
    gate, guard = os.getpid(), os.fork()
    if guard == 0:
        os.close(ours)
        _guard(gate, theirs)
    os.close(theirs)
    atexit.register(_dismiss, guard)


def _dismiss(guard: int) -> None:
    os.kill(guard, signal.SIGKILL)
    os.waitpid(guard, 0)


def _guard(gate: int, pipe: int) -> NoReturn:
    """Wait until the gate has gone, however that was, then end its process group."""
    os.setsid()
    for stop in _STOPS:
        signal.signal(stop, signal.SIG_DFL)
    # Whoever waits for the gate waits for the end of its output.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(pipe if stream == 0 else nowhere, stream)
    os.closerange(3, 256)
    os.read(0, 1)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(gate, number)
        time.sleep(GRACE_SECONDS / 2)
    os._exit(0)
