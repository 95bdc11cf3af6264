"""The ready gate: the server lists its model and completes one chat."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tandem.errors import GateFailed
from tandem.gates.causes import naming_first_cause
from tandem.gates.containers import Watch, exec_python, log_tail, say, with_log
from tandem.gates.keep import keeping_logs
from tandem.gates.run import run_gate
from tandem.gates.spec import ReadySpec
from tandem.gates.start_log import start_log
from tandem.gates.start_records import write_record
from tandem.remote import source

if TYPE_CHECKING:
    from tandem.gates.spec import Watched

POLL_SECONDS = 3
WATCH_SECONDS = 3
"""How often the containers are looked at while a question is under way."""
PATIENCE_SECONDS = 60
"""How long one question waits, inside the container, for a server that is silent."""
ASK_SECONDS = 720
"""How long one question may take: ask.py's own limits and the time to start it."""
_PROGRESS = re.compile(
    r"Loading \S+ checkpoint shards:\s+\d+%|Model loading took.*|.*GPU KV cache size.*"
    r"|Capturing CUDA graphs.*|Maximum concurrency.*|Starting vLLM API server.*|waiting: .*"
)


def ready(spec: ReadySpec) -> dict[str, object]:
    """Wait until the server has answered a chat; return the seconds and what the start logged.

    Raises GateFailed at the deadline, when a container ends, or when the answer is wrong.
    """
    guard = _Guard(spec)
    while True:
        guard.check()
        answer = _ask(spec, guard)
        if answer["state"] == "answered":
            break
        if answer["state"] in {"failed", "other-model"}:
            raise GateFailed(_wrong(spec, answer))
        time.sleep(POLL_SECONDS)
    if spec.expects_reasoning and not answer["reasoning"]:
        raise GateFailed(
            "a reasoning parser is set, but the answer has no reasoning: "
            f"{answer['content'][:200]!r}; check the parser's name against the model"
        )
    seconds = guard.seconds
    say(f"{spec.served_name} answered after {seconds:.0f} s")
    started = start_log(spec.server)
    if spec.record and write_record(spec.record, started):
        say(f"what the start logged of its memory is in {spec.record.path}")
    return {"servedName": spec.served_name, "seconds": round(seconds), "started": started}


class _Guard:
    """Ends the wait when a container ends or time is up, and says how far the start is."""

    def __init__(self, spec: ReadySpec) -> None:
        self._spec = spec
        self._started = time.monotonic()
        self._watch = Watch([spec.server, *spec.others])
        self._restarts: dict[str, int] = {}
        self._said = ""

    @property
    def seconds(self) -> float:
        """Return the seconds since the wait began."""
        return time.monotonic() - self._started

    def check(self) -> None:
        """Raise GateFailed when waiting makes no sense any more."""
        states = self._watch.look()
        for state in states:
            if state.status == "unreachable":
                continue  # nothing was seen; Watch counts how often
            # Docker restarts what ends, so a container that ended may be running again.
            before = self._restarts.setdefault(state.watched.container, state.restarts)
            if state.is_down:
                raise GateFailed(with_log(state))
            if state.restarts > before:
                raise GateFailed(with_log(replace(state, detail="it ended and was restarted")))
        if self.seconds > self._spec.timeout_seconds:
            limit = self._spec.timeout_seconds
            raise GateFailed(f"no answer after {limit} s\n{with_log(states[0])}")
        progress = _progress(self._spec.server)
        if progress and progress != self._said:
            say(f"{self.seconds:4.0f} s  {progress}")
            self._said = progress


def _ask(spec: ReadySpec, guard: _Guard) -> dict[str, Any]:
    words = [spec.url, spec.served_name, str(PATIENCE_SECONDS)]
    if spec.key_file is not None:
        words.append(spec.key_file)
    command = exec_python(spec.server, ASK_SECONDS, source("ask.py"), *words)
    answer = spec.server.target.run_watched(*command, watch=guard.check, every=WATCH_SECONDS)
    try:
        result: dict[str, Any] = json.loads(answer.stdout)
    except json.JSONDecodeError:
        return {"state": "silent", "detail": answer.stderr.strip()}
    return result


def _wrong(spec: ReadySpec, answer: dict[str, Any]) -> str:
    if answer["state"] == "other-model":
        return f"{spec.url} serves {answer['detail']}, not {spec.served_name}"
    return f"{spec.url} lists {spec.served_name} but a chat failed: {answer['detail']}"


def _progress(server: Watched) -> str:
    """Return the newest line of the log that tells how far the start is."""
    for line in reversed(log_tail(server).splitlines()):
        match = _PROGRESS.search(line)
        if match:
            return match[0].strip()
    return ""


def main(text: str) -> object:
    """Run the gate as Pulumi does: where it gives up, logs are kept and the first cause is told."""
    spec = ReadySpec.from_json(text)
    watched = [spec.server, *spec.others]
    return keeping_logs("ready", watched, lambda: naming_first_cause(watched, lambda: ready(spec)))


if __name__ == "__main__":
    sys.exit(run_gate(main))
