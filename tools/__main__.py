"""`python3 -m tools install`: have a Pulumi tool chain, the official one or one built here."""

import argparse
import fcntl
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from tools import building, official
from tools.layout import HERE, Layout
from tools.process import InstallError


def install(layout: Layout, force_build: bool) -> None:
    """Install the tool chain and note for `tools/run` which it is.

    Raises InstallError when neither the official nor a built tool chain can be had.
    """
    with _alone(layout):
        if force_build:
            choice = "built"
        else:
            verdict = official.prepare(layout, os.environ)
            say(
                f"official tool chain {'found' if verdict.usable else 'not used'}: {verdict.reason}"
            )
            choice = "official" if verdict.usable else "built"
        if choice == "built":
            building.build(layout, say)
        temporary = layout.build / "toolchain.new"
        temporary.write_text(f"{choice}\n")
        temporary.replace(layout.choice)


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """Let a second install in the same clone wait for the first."""
    layout.build.mkdir(parents=True, exist_ok=True)
    with (layout.build / "lock").open("w") as lock:
        try:
            # The kernel's lock, and not a file that exists: it ends with its process.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another install is at work in this clone, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(line: str) -> None:
    """Print one progress line."""
    print(f"tools: {line}", flush=True)


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(128 + number)  # an exception, so that a running build is ended and not left behind


def main(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m tools", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("install", help="install the Pulumi tool chain")
    command.add_argument("--build", action="store_true", help="build it, official one or not")
    parsed = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    try:
        install(HERE, parsed.build)
    except InstallError as error:
        print(f"tools: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
