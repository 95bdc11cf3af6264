"""The stand-in's engine: it counts tokens at a steady pace, and breaks when a prompt says so."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from threading import BoundedSemaphore, Event, Lock

TOKENS_PER_SECOND = 200.0
HANG, CRASH, ALLOCATE = "hang", "crash", "allocate"
"""Prompts: stand still for ever, end at once, take memory until there is no more."""
_MOST_GIB = 4
_MIB = 1024**2


class Engine:
    """Answers requests, at most so many at the same time, with counters as vLLM has them."""

    def __init__(self, most_requests: int, all_ranks: Callable[[], None] = lambda: None) -> None:
        """``all_ranks`` lets every rank take part in a request; what it raises is the answer."""
        self._all_ranks = all_ranks
        self._slots = BoundedSemaphore(most_requests)
        self._lock = Lock()
        self._hung = Event()
        self.running = 0
        self.waiting = 0
        self.prompt_tokens = 0
        self.generation_tokens = 0
        self.steps = 0

    def generate(self, prompt: str, tokens: int) -> None:
        """Take as long as so many tokens need, or do what the prompt asks for."""
        self._count(waiting=1)
        with self._slots:
            self._stand_still()
            self._count(waiting=-1, running=1, prompt_tokens=len(prompt.split()))
            try:
                self._break(prompt.strip())
                self._all_ranks()
                for _ in range(tokens):
                    self._step()
            finally:
                self._count(running=-1)

    def _stand_still(self) -> None:
        while self._hung.is_set():
            time.sleep(60)

    def _step(self) -> None:
        self._stand_still()
        time.sleep(1 / TOKENS_PER_SECOND)
        self._count(generation_tokens=1, steps=1)

    def _break(self, prompt: str) -> None:
        if prompt == HANG:
            self._hung.set()
        elif prompt == CRASH:
            end("EngineDeadError: the prompt asked for it")
        elif prompt == ALLOCATE:
            taken = [bytes(1) * (16 * _MIB) for _ in range(_MOST_GIB * 64)]
            print(f"{len(taken) // 64} GiB are taken, and nobody minded", flush=True)

    def _count(self, **changes: int) -> None:
        with self._lock:
            for name, change in changes.items():
                setattr(self, name, getattr(self, name) + change)


def end(reason: str) -> None:
    """End the process as vLLM does when its engine is dead."""
    print(f"ERROR {reason}", file=sys.stderr, flush=True)
    os._exit(1)
