"""The stand-in's ranks without Ray end, and do not end, as vLLM's own do."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError

import pytest

from tandem.gates.rank_evidence import RankLine, read_lines
from tests.builders import plan

ROOT = Path(__file__).parents[2]


class Node:
    """The stand-in's ``vllm serve`` on one host."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self._log = folder / f"{len(list(folder.iterdir()))}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lab.stand_in.vllm_command", "serve", *words],
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def rank(self) -> int:
        """Return the process of its rank."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        (pid,) = path.read_text().split()
        return int(pid)

    def ends(self) -> int:
        return self.process.wait(timeout=15)


class Group:
    """Two nodes on loopback, as Tandem starts them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: list[Node] = []
        self.port, self.master = _free_port(), _free_port()
        changes = {"backend": "mp", "serve.port": self.port, "mp.port": self.master}
        rank, server = plan(2, changes).containers
        self._words = [
            [word.replace("10.0.0.1", "127.0.0.1") for word in spec.command]
            for spec in (server, rank)
        ]

    def start(self, node: int) -> Node:
        self._nodes.append(Node(self._folder, self._words[node]))
        return self._nodes[-1]

    def pair(self) -> tuple[Node, Node]:
        """Return both once the API answers."""
        other, first = self.start(1), self.start(0)
        until(lambda: self.health() == 200)
        return first, other

    def health(self) -> int:
        return self._ask("/health")

    def chat(self) -> int:
        message = {"role": "user", "content": "Hello"}
        body = {"model": "org/model", "messages": [message], "max_tokens": 1}
        return self._ask("/v1/chat/completions", json.dumps(body).encode())

    def close(self) -> None:
        for node in self._nodes:
            node.process.kill()
            node.process.wait()

    def _ask(self, path: str, body: bytes | None = None) -> int:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}{path}", body, timeout=5) as answer:
                return int(answer.status)
        except HTTPError as refusal:
            return refusal.code
        except (URLError, OSError):
            return 0


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    made = Group(tmp_path)
    yield made
    made.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_both_ranks_say_that_they_join_and_answer_together(group: Group) -> None:
    first, other = group.pair()
    master = f"tcp://127.0.0.1:{group.master}"
    assert list(read_lines(first.log)) == [RankLine(2, 0, master, "gloo")]
    assert list(read_lines(other.log)) == [RankLine(2, 1, master, "gloo")]
    assert group.chat() == 200


def test_a_rank_that_is_killed_ends_its_node_with_0_and_the_api_only_with_the_next_request(
    group: Group,
) -> None:
    first, other = group.pair()
    os.kill(other.rank, signal.SIGKILL)
    assert other.ends() == 0
    assert "died unexpectedly (exit code: -9)" in other.log
    assert group.health() == 200
    assert group.chat() == 500
    assert first.ends() == 0


def test_the_other_node_stays_when_the_first_one_is_gone(group: Group) -> None:
    first, other = group.pair()
    first.process.terminate()
    assert first.ends() == 0
    before = other.log
    time.sleep(1)
    assert (other.process.poll(), other.log) == (None, before)
    again = group.start(0)
    time.sleep(2)
    assert (group.health(), again.process.poll()) == (0, None)


def test_a_rank_that_is_frozen_leaves_health_at_200_and_requests_without_an_answer(
    group: Group,
) -> None:
    _, other = group.pair()
    os.kill(other.rank, signal.SIGSTOP)
    assert group.chat() == 0
    assert group.health() == 200
    os.kill(other.rank, signal.SIGCONT)


def test_a_node_with_a_frozen_rank_takes_its_time_to_end(group: Group) -> None:
    _, other = group.pair()
    os.kill(other.rank, signal.SIGSTOP)
    began = time.monotonic()
    other.process.terminate()
    assert other.ends() == 0
    assert time.monotonic() - began > 8


def test_ranks_end_with_their_node(group: Group) -> None:
    _, other = group.pair()
    rank = other.rank
    other.process.kill()
    other.process.wait()
    until(lambda: not Path(f"/proc/{rank}").exists() or _is_zombie(rank))


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
