"""The stand-in's ranks without Ray: processes on every host that meet at the first one's port.

No kinder than vLLM's own (run with 0.32): a rank that has lost its group stays and can't join
another, the first host hears of a rank that is gone only when a request needs it, and what ends
ends with status 0.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Thread

RETRY_SECONDS = 0.2
SHUTDOWN_SECONDS = 6.0
"""How long vLLM takes to end after one of its processes has died."""
API_SHUTDOWN_SECONDS = 2.0
RANK_SHUTDOWN_SECONDS = 9.0
"""How long a rank may take to end by itself: vLLM waits for five seconds, sends SIGTERM, and
SIGKILL after four more (multiproc_executor.py)."""


class GroupLost(Exception):
    """A step needs a rank that is gone."""


@dataclass(frozen=True)
class Place:
    """A node of the group."""

    world_size: int
    nodes: int
    node: int
    master: tuple[str, int]
    timeout: float
    """How long ranks wait for each other, in seconds."""

    @property
    def ranks(self) -> range:
        """Return the ranks of this node."""
        size = self.world_size // self.nodes
        return range(self.node * size, (self.node + 1) * size)


class Ranks:
    """The processes of one node; they end with the process that started them."""

    def __init__(self, place: Place) -> None:
        self._lock = Lock()
        self._is_ending = False
        self._processes = [_start(place, rank) for rank in place.ranks]

    def wait_until_joined(self) -> None:
        """Return when the group is whole; end the process where a rank gives up."""
        for process in self._processes:
            if not process.stdout or not process.stdout.readline():
                sys.exit(f"RuntimeError: a worker ended with {process.wait()} before it was ready")

    def step(self) -> None:
        """Let all ranks of the group do one step. Raises GroupLost."""
        first = self._processes[0]
        with self._lock:
            if not first.stdin or not first.stdout:
                return
            first.stdin.write("step\n")
            first.stdin.flush()
            if first.stdout.readline().strip() != "done":
                raise GroupLost

    def watch(self, ended: Callable[[], None]) -> None:
        """Call ``ended`` once a process of this node is gone, as vLLM's monitor does."""
        for number, process in enumerate(self._processes):
            Thread(target=self._wait, args=[number, process, ended], daemon=True).start()

    def _wait(self, number: int, process: subprocess.Popen[str], ended: Callable[[], None]) -> None:
        code = process.wait()
        if self._is_ending:
            return
        name = f"Worker proc VllmWorker-{number}"
        print(f"ERROR {name} died unexpectedly (exit code: {code}), shutting down", flush=True)
        ended()

    def kill(self) -> None:
        """End them all, a frozen one only after a while."""
        self._is_ending = True
        for process in self._processes:
            process.terminate()
        deadline = time.monotonic() + RANK_SHUTDOWN_SECONDS
        for process in self._processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()


def run_headless(place: Place) -> None:
    """Be a node without an API, until one of its ranks is gone or it is stopped."""
    ranks = Ranks(place)
    end_with_0_when_stopped(ranks, 0)
    ranks.wait_until_joined()
    ranks.watch(lambda: _end_later(ranks, SHUTDOWN_SECONDS))
    while True:
        time.sleep(60)


def end_with_0_when_stopped(ranks: Ranks, seconds: float) -> None:
    """End on SIGTERM as vLLM does: with 0, and without a word to the other nodes."""
    signal.signal(signal.SIGTERM, lambda *_: _end_later(ranks, seconds))


def end_engine(ranks: Ranks) -> None:
    """End the API as vLLM does when its engine is dead."""
    print("ERROR EngineDeadError: a rank is gone", file=sys.stderr, flush=True)
    _end_later(ranks, API_SHUTDOWN_SECONDS)


def _end_later(ranks: Ranks, seconds: float) -> None:
    def end() -> None:
        time.sleep(seconds)
        ranks.kill()
        os._exit(0)

    Thread(target=end).start()


def _start(place: Place, rank: int) -> subprocess.Popen[str]:
    words = (place.world_size, rank, place.master[0], place.master[1], place.timeout)
    return subprocess.Popen(
        [f"VLLM::Worker_TP{rank}", "-m", "lab.stand_in.ranks", *map(str, words)],
        executable=sys.executable,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def main(words: list[str]) -> None:
    """Be one rank, until its node's main process is gone."""
    world_size, rank, port, timeout = int(words[0]), int(words[1]), int(words[3]), float(words[4])
    master = (words[2], port)
    print(
        f"(Worker pid={os.getpid()}) INFO [parallel_state.py:1906] world_size={world_size} "
        f"rank={rank} local_rank=0 distributed_init_method=tcp://{master[0]}:{port} backend=gloo",
        file=sys.stderr,
        flush=True,
    )
    deadline = time.monotonic() + timeout
    store = _Store(port, world_size) if rank == 0 else None
    group = _joined(master, rank, deadline)
    if store is not None:
        store.accept(deadline)
    if not group.makefile().readline():
        sys.exit(f"DistNetworkError: rank {rank} could not join before the timeout")
    print("ready", flush=True)
    if store is None:
        Thread(target=_answer_steps, args=[group], daemon=True).start()
    # The other end is the node's main process: its death closes it.
    for _ in sys.stdin:
        print("done" if store is not None and store.step() else "lost", flush=True)


class _Store:
    """Rank 0's side: it listens on all addresses, and knows the ranks that came first."""

    def __init__(self, port: int, world_size: int) -> None:
        self._listener = socket.create_server(("0.0.0.0", port))
        self._world_size = world_size
        self._ranks: dict[int, socket.socket] = {}

    def accept(self, deadline: float) -> None:
        """Take every rank once, and tell all that the group is whole."""
        while len(self._ranks) < self._world_size:
            self._listener.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                joined = f"{len(self._ranks)}/{self._world_size} clients joined"
                sys.exit(f"DistStoreError: Timed out waiting for clients. {joined}.")
            connection.settimeout(5)
            try:
                rank = int(connection.makefile().readline())
            except (OSError, ValueError):
                continue  # a look at the port, such as the survey's
            connection.settimeout(None)
            self._ranks.setdefault(rank, connection)
        for connection in self._ranks.values():
            connection.sendall(b"joined\n")

    def step(self) -> bool:
        """Ask every other rank, and wait for it; tell whether all are there."""
        try:
            for rank, connection in self._ranks.items():
                if rank != 0:
                    connection.sendall(b"step\n")
                    if not connection.recv(64):
                        return False
        except OSError:
            return False
        return True


def _joined(master: tuple[str, int], rank: int, deadline: float) -> socket.socket:
    while True:
        try:
            connection = socket.create_connection(master, timeout=5)
        except OSError as problem:
            if time.monotonic() > deadline:
                sys.exit(f"DistNetworkError: rank {rank}: {problem}")
            time.sleep(RETRY_SECONDS)
            continue
        connection.settimeout(None)
        connection.sendall(f"{rank}\n".encode())
        return connection


def _answer_steps(group: socket.socket) -> None:
    """Answer until the first host is gone; then stay, as vLLM's ranks do."""
    while group.recv(64):
        group.sendall(b"done\n")


if __name__ == "__main__":
    main(sys.argv[1:])
