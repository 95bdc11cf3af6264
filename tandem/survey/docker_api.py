"""Docker's API, asked through ``docker system dial-stdio`` on a host.

One start of Docker's command line answers any number of questions, and finds the daemon as the
user has it set up there: contexts, DOCKER_HOST, rootless. Docker's own ``ssh://`` takes this road.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from threading import Timer
from typing import IO, TYPE_CHECKING, Any, Self

from tandem.errors import TandemError
from tandem.ssh import UNREACHABLE, last_line, make_control_directory

if TYPE_CHECKING:
    from types import TracebackType

    from tandem.ssh import SshTarget


class DockerSilent(TandemError):
    """Docker, or the way to it, did not answer; the text is what was said instead."""

    def __init__(self, words: str, *, is_lost: bool = False, is_late: bool = False) -> None:
        super().__init__(words)
        self.is_lost = is_lost
        """Whether SSH did not get there."""
        self.is_late = is_late
        """Whether Docker took too long."""


TIMED_OUT = (124, 143)
"""The exit status of `timeout`, and that of BusyBox's: ended by SIGTERM."""
SSH_SECONDS = 15
"""How long SSH may take to get to the host and back, which it bounds itself as a rule."""


class DockerApi:
    """A conversation with one host's Docker, of so many seconds at most."""

    def __init__(self, target: SshTarget, seconds: int) -> None:
        self._seconds = seconds
        make_control_directory()
        # The client stays on the host when SSH is killed here: `timeout` ends it there.
        argv = target.argv("timeout", str(seconds), "docker", "system", "dial-stdio")
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe)
        self._alarm = Timer(seconds + SSH_SECONDS, self._process.kill)
        self._alarm.daemon = True

    def __enter__(self) -> Self:
        self._alarm.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is not None:
            self._process.kill()
        self._process.communicate()
        self._alarm.cancel()

    def get(self, path: str) -> Any:
        """Return what Docker answers in JSON; where it refuses, an object with a ``message``.

        Raises DockerSilent when there is no answer.
        """
        body = self.read(path)
        try:
            return json.loads(body)
        except ValueError:
            raise self._silence() from None

    def read(self, path: str) -> bytes:
        """Return the body of an answer.

        Raises DockerSilent when there is none.
        """
        sent, answers = self._process.stdin, self._process.stdout
        assert sent is not None and answers is not None
        try:
            # The input stays open: dockerd drops what it is at when that ends.
            sent.write(f"GET {path} HTTP/1.1\r\nHost: docker\r\n\r\n".encode())
            sent.flush()
            return _body(answers)
        except (OSError, ValueError, LookupError):
            raise self._silence() from None

    def _silence(self) -> DockerSilent:
        # What is not read yet of the input can't be sent any more.
        with suppress(OSError):
            said = self._process.communicate()[1]
        words = last_line(said.decode(errors="replace")) or f"no answer within {self._seconds} s"
        status = self._process.returncode
        is_lost = status < 0 or status == UNREACHABLE
        return DockerSilent(words, is_lost=is_lost, is_late=status in TIMED_OUT)


def _body(answers: IO[bytes]) -> bytes:
    """Read one answer of HTTP/1.1 (RFC 9112, sections 4 to 7)."""
    if not answers.readline().startswith(b"HTTP/"):
        raise ValueError
    headers = {}
    while line := answers.readline().strip():
        name, _, value = line.partition(b":")
        headers[name.lower()] = value.strip()
    if headers.get(b"transfer-encoding") != b"chunked":
        return answers.read(int(headers[b"content-length"]))
    body = b""
    while size := int(answers.readline(), 16):
        body += answers.read(size)
        answers.readline()
    answers.readline()
    return body
