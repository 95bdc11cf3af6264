"""The ready gate: the server lists its model and completes one chat."""

from __future__ import annotations

import json
import re
import sys
import time
from importlib import resources
from typing import TYPE_CHECKING, Any

from tandem.errors import GateFailed
from tandem.gates.containers import ContainerState, Watch, log_tail, say, with_log
from tandem.gates.run import run_gate
from tandem.gates.spec import ReadySpec

if TYPE_CHECKING:
    from tandem.gates.spec import Watched

POLL_SECONDS = 2
_PROGRESS = re.compile(
    r"Loading \S+ checkpoint shards:\s+\d+%|Model loading took.*|.*GPU KV cache size.*"
    r"|Capturing CUDA graphs.*|Maximum concurrency.*|Starting vLLM API server.*|waiting: .*"
)


def ready(spec: ReadySpec) -> dict[str, object]:
    """Wait until the server has answered a chat; return its words and the seconds it took.

    Raises GateFailed at the deadline, when a container ends, or when the answer is wrong.
    """
    started = time.monotonic()
    watch = Watch([spec.server, *spec.others])
    restarts: dict[str, int] | None = None
    said = ""
    while True:
        states = watch.look()
        restarts = restarts or {state.watched.container: state.restarts for state in states}
        _stop_at_the_first_that_ended(states, restarts)
        answer = _ask(spec)
        seconds = time.monotonic() - started
        if answer["state"] == "answered":
            break
        if answer["state"] in {"failed", "other-model"}:
            raise GateFailed(_wrong(spec, answer))
        if seconds > spec.timeout_seconds:
            raise GateFailed(f"no answer after {spec.timeout_seconds} s\n{with_log(states[0])}")
        progress = _progress(spec.server)
        if progress and progress != said:
            say(f"{seconds:4.0f} s  {progress}")
            said = progress
        time.sleep(POLL_SECONDS)
    if spec.expects_reasoning and not answer["reasoning"]:
        raise GateFailed(
            "a reasoning parser is set, but the answer has no reasoning: "
            f"{answer['content'][:200]!r}; check the parser's name against the model"
        )
    say(f"{spec.served_name} answered after {seconds:.0f} s")
    return {"servedName": spec.served_name, "seconds": round(seconds)}


def _stop_at_the_first_that_ended(states: list[ContainerState], restarts: dict[str, int]) -> None:
    for state in states:
        # Docker restarts what ends, so a container that ended may be running again.
        if state.is_down or state.restarts > restarts[state.watched.container]:
            raise GateFailed(with_log(state))


def _ask(spec: ReadySpec) -> dict[str, Any]:
    program = resources.files("tandem.remote").joinpath("ask.py").read_text()
    words = ("python3", "-", spec.url, spec.served_name)
    command = ("docker", "exec", "-i", spec.server.container, *words)
    answer = spec.server.target.run(*command, stdin=program)
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


if __name__ == "__main__":
    sys.exit(run_gate(lambda text: ready(ReadySpec.from_json(text))))
