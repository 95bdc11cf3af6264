"""Runs the lab's command line."""

import sys

from lab import cli
from lab.errors import LabError


def main() -> int:
    """Run a command and return its exit code; an error is one line."""
    try:
        cli.run(sys.argv[1:])
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: interrupted; `python3 -m lab down` cleans up", file=sys.stderr)
        return 130
    return 0


sys.exit(main())
