"""Become the server's command, with a process beside it that ends it when it is stalled.

Runs inside the server's container: ``python3 liveness.py --url=URL --timeout=SECONDS
[--model=NAME] [--key=FILE] -- command…``. Every 15 seconds /health and /metrics are asked: a health
endpoint answers, too, while the engine behind it stands still. vLLM counts a request as running
after its first step, so an engine that never steps again looks idle: with a model's name, one token
is asked for wherever nothing has moved for the timeout. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

CHECK_SECONDS = 15.0
ANSWER_SECONDS = 10
LONGEST_CHECK_SECONDS = CHECK_SECONDS + 2 * ANSWER_SECONDS
GRACE_SECONDS = 30.0
HEALTHY = Path("/dev/shm/tandem-healthy")
"""Holds the time of the last check that was well; Docker's health check looks at its age."""
REASON = Path("/var/lib/tandem/reason")
"""Where supervise.py reads why the command was ended."""

RUNNING = "vllm:num_requests_running"
TOKENS = ("vllm:prompt_tokens_total", "vllm:generation_tokens_total")
STEPS = "vllm:iteration_tokens_total_count"
CACHE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
"""The second is the name before vLLM 0.9.2. In a long prefill this alone moves, as each chunk takes
blocks; the counters wait for output (vllm/v1/engine/async_llm.py, vllm/v1/metrics/loggers.py)."""


def read_metrics(text: str) -> dict[str, float]:
    """Return the sum of every metric of vLLM over its labels, from Prometheus' text format."""
    sums: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("vllm:"):
            labelled, _, value = line.rpartition("}") if "}" in line else line.partition(" ")
            name = labelled.partition("{")[0]
            sums[name] = sums.get(name, 0.0) + float(value.split()[0])
    return sums


@dataclass
class Progress:
    """Whether the server is stalled, by what the checks see. Times in seconds."""

    timeout: float
    silent: float | None = None
    """How long /health has not answered; None before its first answer: the server loads."""
    still: float = 0.0
    """How long nothing of the engine has moved."""
    metrics: dict[str, float] = field(default_factory=dict)

    def see(self, *, healthy: bool, metrics: dict[str, float], seconds: float) -> None:
        """Take in a check, so many seconds after the last; no metrics where there was no answer."""
        if healthy:
            self.silent = 0.0
        elif self.silent is not None:
            self.silent += seconds
        moved = not metrics or _signs(metrics) != _signs(self.metrics)
        self.still = 0.0 if moved else self.still + seconds
        self.metrics = metrics

    def stalled(self, *, asked: bool) -> str | None:
        """Return in words why the server is stalled; None when it is not, or nobody can tell.

        ``asked`` tells that the token that was asked for has not come.
        """
        if self.silent is not None and self.silent > self.timeout:
            return f"stalled: /health has not answered for {self.silent:.0f} s"
        running = int(self.metrics.get(RUNNING, 0))
        if not self.is_still() or not (running or asked):
            return None
        prompt, generated = (int(self.metrics[name]) for name in TOKENS)
        what = f"requests running: {running}" if running else "a request is not answered"
        return (
            f"stalled: {what}, and nothing has moved for {self.still:.0f} s "
            f"({prompt} prompt tokens so far, {generated} generated)"
        )

    def is_still(self) -> bool:
        """Tell whether nothing has moved for the timeout, where this version's metrics tell."""
        told = all(name in self.metrics for name in (RUNNING, *TOKENS))
        told = told and any(name in self.metrics for name in CACHE)
        return told and self.silent is not None and self.still > self.timeout


def _signs(metrics: dict[str, float]) -> list[float | None]:
    return [metrics.get(name) for name in (RUNNING, *TOKENS, STEPS, *CACHE)]


class Server:
    """The server as it answers."""

    def __init__(self, url: str, model: str, key_file: Path | None) -> None:
        self._url = url
        self._model = model
        self._key_file = key_file
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def is_healthy(self) -> bool:
        """Tell whether /health answers and says yes."""
        return self._get("/health") is not None

    def metrics(self) -> dict[str, float]:
        """Return the metrics; none where there is no answer, or one that can't be read."""
        try:
            return read_metrics(self._get("/metrics") or "")
        except (ValueError, IndexError):
            return {}

    def ask_for_token(self, seconds: float) -> None:
        """Ask for one token and wait for any answer; a refusal is one, too."""
        message = {"role": "user", "content": "Hello"}
        body = {"model": self._model, "messages": [message], "max_tokens": 1}
        headers = {"Content-Type": "application/json"}
        if self._key_file:
            headers["Authorization"] = f"Bearer {self._key_file.read_text(encoding='utf-8')}"
        request = urllib.request.Request(
            f"{self._url}/v1/chat/completions", json.dumps(body).encode(), headers
        )
        with suppress(OSError, ValueError), self._opener.open(request, timeout=seconds) as answer:
            answer.read()

    def _get(self, path: str) -> str | None:
        try:
            with self._opener.open(self._url + path, timeout=ANSWER_SECONDS) as answer:
                return str(answer.read().decode(errors="replace"))
        except (OSError, ValueError):
            return None


def watch(server: Server, progress: Progress, pid: int, *, asks: bool) -> None:
    """Check until the process ``pid``, the parent, is gone; end it when it is stalled."""
    question: threading.Thread | None = None
    before = time.monotonic()
    while os.getppid() == pid:
        time.sleep(CHECK_SECONDS)
        healthy, metrics = server.is_healthy(), server.metrics()
        now = time.monotonic()
        # What was longer was no check: the container was paused, and the server with it.
        seconds, before = min(now - before, LONGEST_CHECK_SECONDS), now
        progress.see(healthy=healthy, metrics=metrics, seconds=seconds)
        asked = question is not None and question.is_alive()
        why = progress.stalled(asked=asked)
        if why is not None:
            end(pid, why)
            return
        if healthy:
            note(HEALTHY, f"{time.time():.0f}\n")
        if asks and progress.is_still() and not asked:
            progress.still = 0.0
            question = threading.Thread(
                target=server.ask_for_token, args=[3 * progress.timeout], daemon=True
            )
            question.start()


def end(pid: int, why: str) -> None:
    """End a process with SIGTERM, and with SIGKILL when it does not end in time."""
    HEALTHY.unlink(missing_ok=True)
    note(REASON, why)
    print(f"tandem: {why}; the server is ended", file=sys.stderr, flush=True)
    deadline = time.monotonic() + GRACE_SECONDS
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        while os.getppid() == pid and time.monotonic() < deadline:
            time.sleep(0.1)
        if os.getppid() == pid:
            os.kill(pid, signal.SIGKILL)


def note(path: Path, text: str) -> None:
    """Write a small file; a full disk is no reason to end."""
    with suppress(OSError):
        path.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Start the watch and become the command; return a status when there is no such command."""
    parser = argparse.ArgumentParser(prog="liveness")
    parser.add_argument("--url", required=True)
    parser.add_argument("--timeout", type=float, required=True, metavar="SECONDS")
    parser.add_argument("--model", default="")
    parser.add_argument("--key", type=Path, metavar="FILE")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    if shutil.which(options.command[0]) is None:
        print(f"tandem: the image has no program {options.command[0]}", file=sys.stderr)
        return 127
    HEALTHY.unlink(missing_ok=True)
    pid = os.getpid()
    if os.fork() == 0:
        try:
            server = Server(options.url, options.model, options.key)
            watch(server, Progress(options.timeout), pid, asks=bool(options.model))
        finally:
            os._exit(0)
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
