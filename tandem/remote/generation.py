"""Run a command together with its like on other hosts, and end it when one of them is gone.

Runs in every container with ranks of vLLM: ``python3 generation.py --group=NAME --at=ADDRESS:PORT
--hosts=A,B --number=N -- command…``. Number 0, on the first host, listens at the address; the
others ask there once a second. The command starts once all are there, which is a generation of the
group. It is ended, and this program with it, when another host is silent for ten seconds or has
started again, or when a process of the command is stopped that long. vLLM tells neither side of it
(vllm/v1/executor/multiproc_executor.py, 0.12 to 0.33, watches the processes of its own host), and a
rank that has lost its group can't join another. supervise.py counts the end and starts again.
Waiting for the others has no end, and counts once. Standard library only.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import platform
import signal
import socket
import socketserver
import subprocess
import sys
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

POLL_SECONDS = 1.0
FRESH_SECONDS = 3.0
"""How long ago a host that waits may have asked last."""
LOST_SECONDS = 10.0
"""How long another host may be silent, or a process of the command stopped."""
ANSWER_SECONDS = 3.0
GRACE_SECONDS = 15.0
"""How long the command may take to end by itself: all in all far less than a minute."""
REASON = Path("/var/lib/tandem/reason")
"""Where supervise.py reads why the command was ended."""
BROKEN = "the group is broken"
"""How the reason begins: the cause is on another host, as a rule."""
LONGEST_LINE = 4096


class Broken(Exception):
    """The group is not whole any more; the text says why."""


class Silent(Exception):
    """The first host does not answer, or is not the group's; the text says why."""


@dataclass
class Peer:
    """What the first host knows of another one."""

    start: str | None = None
    """Which start of its program asked last; None before the first question."""
    seen: float = 0.0
    """When that was, by the monotonic clock."""


@dataclass
class Group:
    """The group as its first host sees it: whole at one moment, and broken for ever after."""

    name: str
    versions: str
    peers: dict[str, Peer]
    """By address."""
    generation: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    has_begun: bool = False
    broken: str | None = None
    """Why it is not whole any more."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """Take in that a host asks, and return what it is told."""
        said: dict[str, Any] = {"group": self.name, "versions": self.versions}
        peer = self.peers.get(str(question.get("host")))
        if peer is None or any(question.get(name) != value for name, value in said.items()):
            return said
        with self._lock:
            is_known = self._see(peer, question)
            is_on = is_known and self.has_begun and self.broken is None
            said |= {"generation": self.generation, "begins": is_on, "known": is_known}
            return {**said, "ended": self.broken}

    def _see(self, peer: Peer, question: dict[str, Any]) -> bool:
        """Take it in; return False where the group has nothing to do with who asks."""
        start, ended = str(question.get("start")), question.get("ended")
        if question.get("generation", "") not in ("", self.generation):
            return False  # its command is of an earlier generation, and ends when it is answered
        is_another = peer.start not in (None, start)
        if is_another and time.monotonic() - peer.seen <= FRESH_SECONDS:
            return False  # a copy of the host's container, or a new start right after the last one
        if self.has_begun and start != peer.start:
            self._end(f"{question['host']} has started again")
        elif self.has_begun and ended:
            self._end(f"{question['host']}: {ended}")
        elif not ended:
            peer.start, peer.seen = start, time.monotonic()
            self.has_begun = self.has_begun or not self._silent(FRESH_SECONDS)
        return True

    def check(self) -> None:
        """Raise Broken once the group has begun and is not whole any more."""
        with self._lock:
            if self.has_begun and (silent := self._silent(LOST_SECONDS)):
                self._end(f"nothing heard of {', '.join(silent)} for {LOST_SECONDS:.0f} s")
            if self.broken is not None:
                raise Broken(self.broken)

    def missing(self) -> list[str]:
        """Return the hosts that the group waits for."""
        with self._lock:
            return [] if self.has_begun else self._silent(FRESH_SECONDS)

    def end(self, why: str) -> None:
        """Tell the others from now on that the group has ended."""
        with self._lock:
            self._end(why)

    def _end(self, why: str) -> None:
        # The first reason is the cause, later ones follow from it.
        self.broken = self.broken or why

    def _silent(self, seconds: float) -> list[str]:
        now = time.monotonic()
        return [
            host
            for host, peer in self.peers.items()
            if peer.start is None or now - peer.seen > seconds
        ]


class Server(socketserver.ThreadingTCPServer):
    """Answers the other hosts, a line of JSON for a line of JSON."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], group: Group) -> None:
        super().__init__(address, _Question)
        self.group = group

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: who goes away in the middle is no member."""


class _Question(socketserver.StreamRequestHandler):
    timeout = ANSWER_SECONDS
    server: Server

    def handle(self) -> None:
        with suppress(ValueError):
            question = json.loads(self.rfile.readline(LONGEST_LINE))
            if isinstance(question, dict):
                self.wfile.write(json.dumps(self.server.group.answer(question)).encode() + b"\n")


class First:
    """The first host's side: it knows whether the group is whole."""

    def __init__(self, address: tuple[str, int], group: Group) -> None:
        self._group = group
        self._host = address[0]
        self._server = _listening(address, group)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def wait(self) -> str:
        """Return the generation once all other hosts are there."""
        said = None
        while missing := self._group.missing():
            if missing != said:
                say(f"waiting: {', '.join(missing)} to join {self._group.name}")
            said = missing
            time.sleep(POLL_SECONDS)
        return self._group.generation

    def check(self) -> None:
        """Raise Broken when the group is not whole any more."""
        self._group.check()

    def end(self, why: str) -> None:
        """Tell the others from now on that the group has ended."""
        self._group.end(f"{self._host}: {why}")

    def leave(self) -> None:
        """Stay until the others have asked why."""
        time.sleep(2 * POLL_SECONDS)


class Other:
    """Another host's side: it asks the first one."""

    def __init__(self, address: tuple[str, int], question: dict[str, str]) -> None:
        self._address = address
        self._question = {**question, "start": uuid.uuid4().hex}
        self._generation = ""
        self._heard = 0.0

    def wait(self) -> str:
        """Return the generation once the first host says that all are there."""
        said = None
        while True:
            try:
                answer = self._ask()
                problem = f"the first host to join {self._question['group']} with all others"
                if not answer["known"]:
                    problem = f"another program is {self._question['host']} at this moment"
            except Silent as silent:
                answer, problem = {}, str(silent)
            if answer.get("begins"):
                self._generation, self._heard = answer["generation"], time.monotonic()
                self._question["generation"] = self._generation
                return self._generation
            if problem != said:
                say(f"waiting: {problem}")
            said = problem
            time.sleep(POLL_SECONDS)

    def check(self) -> None:
        """Raise Broken when the first host is silent, or has ended or left the generation."""
        try:
            answer = self._ask()
        except Silent as silent:
            seconds = time.monotonic() - self._heard
            if seconds > LOST_SECONDS:
                raise Broken(f"no first host for {seconds:.0f} s: {silent}") from None
            return
        if answer["generation"] != self._generation:
            raise Broken("the first host has started again")
        if not answer["begins"]:
            raise Broken(str(answer["ended"]))
        self._heard = time.monotonic()

    def end(self, why: str) -> None:
        """Tell the first host that the command here has ended, or has to."""
        self._question["ended"] = why
        with suppress(Silent):  # it notices the silence
            self._ask()

    def leave(self) -> None:
        """Go at once: the first host knows."""

    def _ask(self) -> dict[str, Any]:
        where = ":".join(map(str, self._address))
        try:
            with socket.create_connection(self._address, ANSWER_SECONDS) as connection:
                connection.sendall(json.dumps(self._question).encode() + b"\n")
                line = connection.makefile("rb").readline(LONGEST_LINE)
        except OSError as problem:
            raise Silent(f"{where} does not answer: {problem}") from None
        try:
            answer: dict[str, Any] = dict(json.loads(line))
        except (ValueError, TypeError):
            raise Silent(f"at {where} something else answers") from None
        if answer.get("group") != self._question["group"]:
            other = answer.get("group")
            raise Silent(f"{where} is of {other}, this is {self._question['group']}")
        if answer.get("versions") != self._question["versions"]:
            raise Silent(
                f"{where} has {answer.get('versions')}, this image has {self._question['versions']}"
            )
        if "generation" not in answer:
            raise Silent(f"{where} does not know {self._question['host']}")
        return answer


class Stopped:
    """Tells since when a process of the command is stopped."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._since: dict[int, float] = {}

    def check(self) -> None:
        """Raise Broken when one is stopped for too long: it answers nobody, and does not end."""
        now = time.monotonic()
        stopped = {pid: name for pid, name, state in processes(self._session) if state in "Tt"}
        self._since = {pid: self._since.get(pid, now) for pid in stopped}
        for pid, since in self._since.items():
            if now - since >= LOST_SECONDS:
                raise Broken(f"process {pid} ({stopped[pid]}) is stopped for {now - since:.0f} s")


def processes(session: int) -> list[tuple[int, str, str]]:
    """Return number, name and state of every process of a session (proc_pid_stat(5))."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            head, _, tail = path.read_text(errors="replace").rpartition(") ")
        except OSError:
            continue  # it has ended meanwhile
        number, _, name = head.partition(" (")
        state, _, _, its_session = tail.split()[:4]
        if int(its_session) == session:
            found.append((int(number), name, state))
    return found


def versions() -> str:
    """Return the versions that have to be the same on all hosts."""
    try:
        vllm = metadata.version("vllm")
    except metadata.PackageNotFoundError:
        vllm = "unknown"
    return f"vLLM {vllm} and Python {platform.python_version()}"


def run(side: First | Other, command: list[str]) -> int:
    """Wait for the group, run the command, and return the status to end with.

    SIGTERM and SIGINT are passed on, and end the wait.
    """
    child: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, _: object) -> None:
        if child is None:
            sys.exit(128 + number)
        child.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    say(f"generation {side.wait()} begins")
    # A session of its own tells what belongs to the command.
    child = subprocess.Popen(command, start_new_session=True)
    stopped = Stopped(child.pid)
    while True:
        try:
            code = child.wait(timeout=POLL_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        else:
            side.end(f"the command ended ({f'signal {-code}' if code < 0 else f'status {code}'})")
            _kill(child)
            side.leave()
            return 128 - code if code < 0 else code
        try:
            side.check()
            stopped.check()
        except Broken as broken:
            side.end(str(broken))
            _end(child, str(broken))
            return 1


def _end(child: subprocess.Popen[bytes], why: str) -> None:
    """End the command with SIGTERM, and what is left of it with SIGKILL."""
    why = f"{BROKEN}: {why}"
    with suppress(OSError):
        REASON.write_text(why, encoding="utf-8")
    say(f"{why}; the command is ended")
    child.terminate()
    with suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_SECONDS)
    _kill(child)


def _kill(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the command: on a GPU it would be in the next generation's way."""
    deadline = time.monotonic() + GRACE_SECONDS
    # Again until nothing is left: one may have started another meanwhile. What a driver holds ends
    # with the container.
    while time.monotonic() < deadline and (left := _alive(child.pid)):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.poll()
        time.sleep(POLL_SECONDS / 10)
    child.poll()


def _alive(session: int) -> list[int]:
    return [pid for pid, _, state in processes(session) if state != "Z"]


def _listening(address: tuple[str, int], group: Group) -> Server:
    """Return a server at the address, once a host that boots has it."""
    said = False
    while True:
        try:
            return Server(address, group)
        except OSError as problem:
            if problem.errno != errno.EADDRNOTAVAIL:
                raise
            if not said:
                say(f"waiting: {address[0]} is not there yet")
            said = True
            time.sleep(POLL_SECONDS)


def say(words: str) -> None:
    """Write one line to the container's log."""
    print(f"tandem: {words}", file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """Read the arguments; return the exit status."""
    parser = argparse.ArgumentParser(prog="generation")
    parser.add_argument("--group", required=True, metavar="NAME")
    parser.add_argument("--at", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--hosts", required=True, metavar="A,B", help="addresses, the first first")
    parser.add_argument("--number", type=int, required=True, help="the place among the hosts")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    host, _, port = options.at.rpartition(":")
    hosts = options.hosts.split(",")
    try:
        if options.number == 0:
            peers = {other: Peer() for other in hosts[1:]}
            group = Group(options.group, versions(), peers)
            return run(First((host, int(port)), group), options.command)
        question = {"group": options.group, "versions": versions(), "host": hosts[options.number]}
        return run(Other((host, int(port)), question), options.command)
    except FileNotFoundError as problem:
        say(f"the image has no program {problem.filename}")
        return 127
    except OSError as problem:
        say(f"can't listen at {options.at}: {problem}")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
