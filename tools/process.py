"""Running the programs of an install: bounded, logged, and never left behind."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


class InstallError(Exception):
    """The tool chain cannot be installed; the text says what to do."""


@dataclass(frozen=True)
class Result:
    """The end of a bounded command; a command that cannot start or runs out of time has failed."""

    ok: bool
    output: str


def bounded(command: Sequence[str], seconds: float, env: Mapping[str, str] | None = None) -> Result:
    """Run a command for at most `seconds` and return its output, both streams in one."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            env=env,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Result(False, f"no answer within {seconds:g} s")
    except OSError as error:
        return Result(False, str(error))
    return Result(done.returncode == 0, done.stdout)


def logged(
    command: Sequence[str],
    log: Path,
    cwd: Path,
    env: Mapping[str, str],
    alive: Callable[[float], None],
    every: float = 30.0,
) -> None:
    """Run a long command with its output in `log`, calling `alive(elapsed seconds)` now and then.

    Raises InstallError with the end of the log when the command fails.
    """
    start = time.monotonic()
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            while True:
                try:
                    status = process.wait(every)
                    break
                except subprocess.TimeoutExpired:
                    alive(time.monotonic() - start)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    if status != 0:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise InstallError(
            f"{Path(command[0]).name} failed with status {status}, log: {log}\n{tail}"
        )
