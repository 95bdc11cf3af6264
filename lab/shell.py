"""Running programs of the machine."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.errors import LabError

# Before a command: it and its mounts end when the lab's process ends, however it ends.
CONTAINED = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--pid", "--fork", "--kill-child"),
)


def run(
    command: Sequence[str | Path],
    *,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> str:
    """Run a program and return what it printed.

    Raises LabError with the program's last words when it is missing, fails or takes longer
    than timeout seconds.
    """
    result = attempt(command, stdin=stdin, environment=environment, timeout=timeout)
    if result.returncode:
        words = (result.stderr.strip() or result.stdout.strip() or "no output").splitlines()[-1]
        shown = " ".join(str(part) for part in command)
        raise LabError(f"`{shown[:160]}` failed with exit code {result.returncode}: {words}")
    return result.stdout


def attempt(
    command: Sequence[str | Path],
    *,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program and return its result whatever its exit code.

    Raises LabError when it is missing or takes longer than timeout seconds.
    """
    try:
        return subprocess.run(
            [str(part) for part in command],
            text=True,
            capture_output=True,
            input=stdin,
            # Without input a program must not read the caller's terminal.
            stdin=subprocess.DEVNULL if stdin is None else None,
            env=environment,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise LabError(f"the program {command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"`{command[0]}` did not finish within {timeout:.0f} s") from error


def detach(command: Sequence[str | Path], log: Path) -> None:
    """Start a program that outlives this one; what it prints is added to a log file.

    Raises LabError when the program cannot be started.
    """
    with log.open("ab") as output:
        started = subprocess.run(
            ["setsid", "--fork", *(str(part) for part in command)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            check=False,
        )
    if started.returncode:
        raise LabError(f"the program {command[0]} could not be started")
