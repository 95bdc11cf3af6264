"""A program at work on several hosts at once: one question each, progress meanwhile, one answer."""

from __future__ import annotations

import json
import time
from collections import deque
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from tandem.errors import GateFailed
from tandem.gates.containers import say
from tandem.ssh import UNREACHABLE

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence

    from tandem.gates.spec import WeightsFolder

POLL_SECONDS = 1
SILENCE_SECONDS = 300
"""How long a host may say nothing: the programs tell their progress every ten seconds."""


class Work:
    """A shell command on one host that reads a line of JSON and writes one; it starts at once.

    ``doing`` says in words what it can't do when it fails.
    """

    def __init__(self, folder: WeightsFolder, command: str, question: str, doing: str) -> None:
        self._host = folder.host
        self._doing = doing
        self._process = folder.target.start("sh", "-c", command)
        self._last = deque[str](maxlen=1)
        self._answer = ""
        self._heard = time.monotonic()
        # Threads: a pipe that nobody reads while another is read would stop the program.
        self._threads = [Thread(target=self._tell), Thread(target=self._listen)]
        for thread in self._threads:
            thread.start()
        _send(self._process, question)

    def wait(self) -> None:
        """Return when the host has answered.

        Raises GateFailed when it says nothing for too long: Docker may hang.
        """
        for thread in self._threads:
            while thread.is_alive():
                thread.join(POLL_SECONDS)
                if time.monotonic() - self._heard > SILENCE_SECONDS:
                    raise GateFailed(f"{self._host} has said nothing for {SILENCE_SECONDS} s")
        self._close()

    def kill(self) -> None:
        """End the work on the host, too: its standard input ends."""
        self._process.kill()
        for thread in self._threads:
            thread.join()
        self._close()

    def _close(self) -> None:
        # It may have ended without a look at its input; leaving closes the pipes and waits.
        with suppress(BrokenPipeError), self._process:
            pass

    @property
    def failure(self) -> str:
        """Return why the host has no answer; empty when it has one."""
        code, words = self._process.returncode, self._last[0] if self._last else "no reason given"
        if code == UNREACHABLE:
            return f"host {self._host} does not answer: {words}"
        return f"{self._host} can't {self._doing}: {words}" if code else ""

    @property
    def answer(self) -> dict[str, Any]:
        """Return what the host answered."""
        answer: dict[str, Any] = json.loads(self._answer)
        return answer

    def _tell(self) -> None:
        for line in self._process.stderr or ():
            self._heard = time.monotonic()
            self._last.append(line.strip())
            say(f"{self._host}: {line.rstrip()}")

    def _listen(self) -> None:
        self._answer = self._process.stdout.read() if self._process.stdout else ""


def answers(work: Sequence[Work]) -> list[dict[str, Any]]:
    """Return the answer of every host.

    Raises GateFailed with a line for each host that has none; when one is silent, or the gate is
    ended, the others end, too.
    """
    try:
        for one in work:
            one.wait()
    except BaseException:
        for one in work:
            one.kill()
        raise
    failures = [one.failure for one in work if one.failure]
    if failures:
        raise GateFailed("\n".join(failures))
    return [one.answer for one in work]


def _send(process: subprocess.Popen[str], line: str) -> None:
    # One that has ended has said why.
    with suppress(BrokenPipeError):
        if process.stdin:
            process.stdin.write(line)
            process.stdin.flush()
