"""What a gate sees of a container: its state and the end of its log, over SSH."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tandem.errors import GateFailed
from tandem.ssh import UNREACHABLE, WITH_INPUT, last_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import CompletedProcess

    from tandem.gates.spec import Watched
    from tandem.ssh import SshTarget

TAIL_LINES = 40
"""How much of a log an error shows."""

LOOK_SECONDS = 60
"""How long a look at a container may take: Docker may hang, too."""

REACH_SECONDS = 20
"""How long a host may take to say anything at all. Where its connection is open and it is gone, ssh
itself notices only after 30 seconds."""

SSH_TRIES = 3
"""How often in a row a host may fail to answer before a gate gives up."""

LONGEST_LINE = 4000
"""Characters of a line that are printed, of at most six bytes each."""

_UNTIL_INPUT_ENDS = """
import os, sys, threading
def end_with_input():
    while os.read(0, 4096):
        pass
    os._exit(1)
threading.Thread(target=end_with_input, daemon=True).start()
exec(compile(sys.argv.pop(1), "program", "exec"))
"""

_FORMAT = '{"state": {{json .State}}, "restarts": {{json .RestartCount}}}'


@dataclass(frozen=True)
class ContainerState:
    """A container at one moment."""

    watched: Watched
    status: str
    """Docker's word (created, running, exited, …), or ``missing``, or ``unreachable``."""
    exit_code: int = 0
    restarts: int = 0
    detail: str = ""
    """Docker's or SSH's own words when something is wrong."""
    started_at: str = ""
    """When its last start was, by its host's clock and in Docker's words; empty when not known."""
    finished_at: str = ""
    """When its last end was, which may be that of the start before."""

    @property
    def is_down(self) -> bool:
        """Tell whether the container has ended, or never started."""
        return self.status in {"created", "restarting", "exited", "dead", "missing"}

    def __str__(self) -> str:
        code = f" (exit status {self.exit_code})" if self.exit_code else ""
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.watched.container} on {self.watched.host} is {self.status}{code}{detail}"


class Watch:
    """Looks at several containers, one SSH command per container, all at once."""

    def __init__(self, watched: Sequence[Watched]) -> None:
        self._watched = watched
        self._failures: dict[str, int] = {}

    def look(self) -> list[ContainerState]:
        """Return the state of every container.

        Raises GateFailed when a host did not answer several times in a row.
        """
        with ThreadPoolExecutor(max_workers=len(self._watched)) as pool:
            states = list(pool.map(inspect, self._watched))
        for state in states:
            # Counted by container: two on one host would count, or clear, each other's failures.
            name = state.watched.container
            is_lost = state.status == "unreachable"
            self._failures[name] = self._failures.get(name, 0) + 1 if is_lost else 0
            if self._failures[name] >= SSH_TRIES:
                raise GateFailed(f"host {state.watched.host} does not answer: {state.detail}")
        return states


def inspect(watched: Watched) -> ContainerState:
    """Return the state of one container."""
    words = ("docker", "inspect", "--format", _FORMAT, watched.container)
    answer = watched.target.run(*words, timeout=LOOK_SECONDS)
    if answer.returncode == UNREACHABLE:
        return ContainerState(watched, "unreachable", detail=last_line(answer.stderr))
    if answer.returncode != 0:
        return ContainerState(watched, "missing", detail=last_line(answer.stderr))
    data = json.loads(answer.stdout)
    state = data["state"]
    return ContainerState(
        watched,
        state["Status"],
        state["ExitCode"],
        data["restarts"],
        state["Error"],
        state["StartedAt"],
        state["FinishedAt"],
    )


def unreachable(target: SshTarget) -> str:
    """Return why a host can't be reached, in ssh's words; empty when it can."""
    answer = target.run("true", timeout=REACH_SECONDS)
    return last_line(answer.stderr) if answer.returncode == UNREACHABLE else ""


def log_tail(watched: Watched, lines: int = TAIL_LINES) -> str:
    """Return the last lines that a container wrote, both streams together."""
    command = ("sh", "-c", f"docker logs --tail {lines} {watched.container} 2>&1")
    return watched.target.run(*command, timeout=LOOK_SECONDS).stdout.rstrip()


def exec_python(watched: Watched, seconds: int, program: str, *words: str) -> tuple[str, ...]:
    """Return the command that runs a Python program in a container.

    `docker exec` may hang for ever when its container ends under it: `timeout` ends it. What it
    started in the container goes on without it, unless its input ends.
    """
    command = ("docker", "exec", "--interactive", watched.container, "python3", "-c")
    limit = ("timeout", str(seconds))
    return (*WITH_INPUT, *limit, *command, _UNTIL_INPUT_ENDS, program, *words)


def exec_problem(answer: CompletedProcess[str]) -> str:
    """Return why a program in a container gave no answer.

    `docker exec` prints to standard output why it could not run anything.
    """
    said = last_line(answer.stderr) or last_line(answer.stdout)
    return said or f"no answer within {LOOK_SECONDS} s"


def with_log(state: ContainerState) -> str:
    """Return what is to be said of a container that ended: its state and its log's end."""
    tail = log_tail(state.watched)
    return f"{state}\n--- last lines of its log ---\n{tail}" if tail else str(state)


def say(text: str) -> None:
    """Print lines of progress, each cut where it is too long; standard output is for the result.

    Pulumi's plugin stops reading at a line of 64 KiB, and the gate would wait for it for ever
    (pulumi-command 1.2.1: Go's bufio.Scanner).
    """
    # In one piece: other threads print, too.
    sys.stderr.write("".join(f"{_cut(line)}\n" for line in text.split("\n")))
    sys.stderr.flush()


def _cut(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} … (cut: {len(line)} characters)"
