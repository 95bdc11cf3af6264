"""Progress lines with elapsed times."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_start = time.monotonic()


def say(text: str) -> None:
    """Print one line with the seconds since the program began."""
    print(f"[{time.monotonic() - _start:6.1f} s] {text}", file=sys.stderr, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Print a line when a step begins, and one with its duration when it has succeeded."""
    say(f"{text} …")
    began = time.monotonic()
    yield
    say(f"{text}: done in {time.monotonic() - began:.1f} s")
