"""`python3 -m tools.timed TARGET…`: make targets one after another; print where the time went."""

import subprocess
import sys
import time
from collections.abc import Sequence


def table(seconds: dict[str, float]) -> str:
    """Return one line for each target and one for all, in minutes and seconds."""
    rows = seconds | {"all": sum(seconds.values())}
    width = max(len(name) for name in rows)
    return "\n".join(
        f"{name:<{width}}  {spent // 60:3.0f} min {spent % 60:2.0f} s"
        for name, spent in ((name, round(value)) for name, value in rows.items())
    )


def main(targets: Sequence[str]) -> int:
    """Make the targets until one fails; return its exit status, or 0."""
    seconds: dict[str, float] = {}
    status = 0
    for target in targets:
        began = time.monotonic()
        status = subprocess.run(["make", "--no-print-directory", target], check=False).returncode
        seconds[target] = time.monotonic() - began
        if status:
            break
    print(f"\nWhere the time went:\n{table(seconds)}", flush=True)
    if status:
        print(f"failed: make {list(seconds)[-1]}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
