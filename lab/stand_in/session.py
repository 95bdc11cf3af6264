"""A session of the stand-in for Ray: one TCP connection from each member to the head.

Both sides write one JSON object a line, in turns, once a second. What stays silent for five seconds
is taken for lost, as is what closes its connection.
"""

from __future__ import annotations

import json
import socket
import socketserver
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from threading import Lock, Thread

BEAT_SECONDS = 1.0
LOST_SECONDS = 5.0


class SessionLost(Exception):
    """The head can't be reached, or does not answer any more."""


@dataclass(frozen=True)
class Node:
    """A member that offers GPUs; each start of one is another node."""

    address: str
    gpus: int
    port: int
    """Where it takes connections."""
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)


def listen(address: str) -> int:
    """Take connections on a free port from now on, as a node of Ray does; return the port."""
    server = socketserver.TCPServer((address, 0), socketserver.BaseRequestHandler)
    Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_address[1])


class Head(socketserver.ThreadingTCPServer):
    """Knows which nodes are alive, its own one first."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: tuple[str, int], own: Node) -> None:
        super().__init__(address, _Member)
        self._lock = Lock()
        self._nodes = {own.identity: own}

    @property
    def nodes(self) -> list[Node]:
        """Return the nodes that are alive."""
        with self._lock:
            return list(self._nodes.values())

    def add(self, node: Node) -> None:
        """Count a node as alive."""
        with self._lock:
            self._nodes[node.identity] = node
        print(f"node {node.address} joined with {node.gpus} GPUs", flush=True)

    def remove(self, node: Node) -> None:
        """Count a node as dead."""
        with self._lock:
            del self._nodes[node.identity]
        print(f"node {node.address} is lost", flush=True)


class _Member(socketserver.StreamRequestHandler):
    """The head's side of one connection."""

    timeout = LOST_SECONDS
    server: Head

    def handle(self) -> None:
        try:
            joined = json.loads(self.rfile.readline())["node"]
        except (OSError, ValueError, KeyError):
            return  # a look at the port, such as the survey's
        node = Node(**joined) if joined else None
        if node:
            self.server.add(node)
        try:
            while self._beat():
                time.sleep(BEAT_SECONDS)
        except OSError:
            pass
        finally:
            if node:
                self.server.remove(node)

    def _beat(self) -> bool:
        listed = [asdict(node) for node in self.server.nodes]
        self.wfile.write(json.dumps(listed).encode() + b"\n")
        return bool(self.rfile.readline())


def attend(address: str, node: Node | None, each_beat: Callable[[list[Node]], bool]) -> None:
    """Stay a member, as a node or as one that only asks, until ``each_beat`` returns False.

    ``each_beat`` gets the nodes that are alive once a second. Raises SessionLost.
    """
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=LOST_SECONDS) as connection:
            lines = connection.makefile("rb")
            _write(connection, {"node": asdict(node) if node else None})
            while line := lines.readline():
                if not each_beat([Node(**one) for one in json.loads(line)]):
                    return
                _write(connection, {})
    except OSError as problem:
        raise SessionLost(f"no head at {address}: {problem}") from None
    raise SessionLost(f"the head at {address} closed the connection")


def alive(address: str) -> list[Node]:
    """Return the nodes that the head calls alive. Raises SessionLost."""
    found: list[Node] = []

    def once(nodes: list[Node]) -> bool:
        found.extend(nodes)
        return False

    attend(address, None, once)
    return found


def _write(connection: socket.socket, value: object) -> None:
    connection.sendall(json.dumps(value).encode() + b"\n")
