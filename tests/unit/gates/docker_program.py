"""The program `docker` on PATH: it asks the test what to answer, wherever a gate runs.

With tests.shell.host_here, what a gate asks runs in this machine's shell, word for word.
"""

from __future__ import annotations

import json
import shlex
import socketserver
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.shell import program

_CLIENT = Path(__file__).with_name("docker_client.py")


@dataclass
class Answer:
    """What `docker` prints and ends with, or the program that it becomes."""

    status: int = 0
    out: str = ""
    err: str = ""
    run: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    has_input: bool = False


class Docker(Protocol):
    """What knows the answers."""

    def answer(self, host: str, limit: str | None, words: list[str], pid: int) -> Answer:
        """Return what a command on a host gives.

        ``limit`` are the seconds that `timeout` gives it, ``pid`` is that of the program.
        """


class DockerServer(socketserver.ThreadingTCPServer):
    """What the `docker` on PATH asks; ends with its block."""

    daemon_threads = True

    def __init__(self, docker: Docker, programs: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.docker = docker
        words = shlex.join([sys.executable, "-IS", str(_CLIENT), str(self.server_address[1])])
        program(programs / "docker", f'exec {words} "$@"')


class _Handler(socketserver.StreamRequestHandler):
    server: DockerServer

    def handle(self) -> None:
        """Answer one command."""
        asked = json.loads(self.rfile.readline())
        host = asked.pop("host").removeprefix("ops@")
        answer = self.server.docker.answer(host, **asked)
        self.wfile.write(json.dumps(vars(answer)).encode())
