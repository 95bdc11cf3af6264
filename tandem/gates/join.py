"""The join gate: exactly the declared Ray nodes are alive, each with its GPUs and versions."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tandem.errors import GateFailed
from tandem.gates.causes import naming_first_cause
from tandem.gates.containers import (
    LOOK_SECONDS,
    ContainerState,
    Watch,
    exec_problem,
    exec_python,
    say,
    with_log,
)
from tandem.gates.keep import keeping_logs
from tandem.gates.run import run_gate
from tandem.gates.spec import JoinSpec
from tandem.remote import source
from tandem.remote.ray_contract import Nodes, differences

if TYPE_CHECKING:
    from subprocess import CompletedProcess

    from tandem.gates.spec import Watched

POLL_SECONDS = 2
WATCH_SECONDS = 2
"""How often the containers are looked at while a question is under way."""
PATIENCE_SECONDS = 10
"""How long one question to Ray waits, inside the head's container, for the nodes to join."""
_NEVER_STARTED = {"created", "dead", "missing"}


def join(spec: JoinSpec) -> dict[str, object]:
    """Wait until the Ray cluster is exactly what was declared; return nodes and versions.

    Raises GateFailed at the deadline, or as soon as a container can't take part any more.
    """
    started = time.monotonic()
    watch = Watch([node.watched for node in spec.nodes])
    declared = {node.address: node.gpus for node in spec.nodes}
    said = None
    while True:
        states = _look(watch)
        alive = _alive(spec, watch, spec.timeout_seconds - (time.monotonic() - started))
        missing = differences(declared, alive) if alive is not None else ["no answer from Ray"]
        if not missing:
            break
        if missing != said:
            say(f"waiting for {'; '.join(missing)}")
            said = missing
        if time.monotonic() - started > spec.timeout_seconds:
            raise GateFailed(_report(spec, states, missing))
        time.sleep(POLL_SECONDS)
    say(f"joined: {', '.join(declared)} after {time.monotonic() - started:.0f} s")
    return {"nodes": declared, "versions": _same_versions(spec)}


def _look(watch: Watch) -> list[ContainerState]:
    """Return the containers' states; raise GateFailed when one of them never started."""
    states = watch.look()
    for state in states:
        if state.status in _NEVER_STARTED:
            raise GateFailed(with_log(state))
    return states


def _alive(spec: JoinSpec, watch: Watch, seconds: float) -> Nodes | None:
    """Return the nodes that Ray calls alive, or None while the head does not answer.

    Returns as soon as all have joined, or after so many seconds or PATIENCE_SECONDS.
    """
    head = spec.nodes[0].watched
    nodes = [f"--node={node.address}={node.gpus}" for node in spec.nodes]
    patience = f"--timeout={max(0, min(seconds, PATIENCE_SECONDS)):.0f}"
    words = ("--report", f"--address={spec.ray_address}", *nodes, patience)
    answer = head.target.run_watched(
        *exec_python(head, LOOK_SECONDS, source("ray_contract.py"), *words),
        watch=lambda: _look(watch),
        every=WATCH_SECONDS,
    )
    try:
        alive: Nodes | None = json.loads(answer.stdout)
    except json.JSONDecodeError:
        return None
    return alive


def _same_versions(spec: JoinSpec) -> dict[str, str]:
    """Return the versions of Python, Ray and vLLM; raise GateFailed when hosts differ."""
    watched = [node.watched for node in spec.nodes]
    with ThreadPoolExecutor(max_workers=len(watched)) as pool:
        answers = list(pool.map(lambda item: _in_container(item, "--versions"), watched))
    found: dict[str, dict[str, str]] = {}
    for item, answer in zip(watched, answers, strict=True):
        try:
            found[item.host] = json.loads(answer.stdout)
        except json.JSONDecodeError:
            raise GateFailed(
                f"{item.container} on {item.host} can't tell its versions of Ray and vLLM: "
                f"{exec_problem(answer)}"
            ) from None
    first = found[watched[0].host]
    if any(versions != first for versions in found.values()):
        listed = "; ".join(
            f"{host}: {', '.join(f'{name} {version}' for name, version in versions.items())}"
            for host, versions in found.items()
        )
        raise GateFailed(f"hosts differ in what their image holds: {listed}")
    return first


def _in_container(watched: Watched, *words: str) -> CompletedProcess[str]:
    command = exec_python(watched, LOOK_SECONDS, source("ray_contract.py"), *words)
    return watched.target.run(*command, timeout=LOOK_SECONDS)


def _report(spec: JoinSpec, states: list[ContainerState], missing: list[str]) -> str:
    """Say which hosts are missing after the deadline, and what is known of each."""
    lines = [f"not joined after {spec.timeout_seconds} s: {'; '.join(missing)}"]
    named = {problem.partition(" ")[0] for problem in missing}
    concerned = [
        state for node, state in zip(spec.nodes, states, strict=True) if node.address in named
    ]
    # Where no host is named, Ray itself did not answer: the head's log says why.
    lines += [with_log(state) for state in concerned or states[:1]]
    return "\n".join(lines)


def main(text: str) -> object:
    """Run the gate as Pulumi does: where it gives up, logs are kept and the first cause is told."""
    spec = JoinSpec.from_json(text)
    watched = [node.watched for node in spec.nodes]
    return keeping_logs("join", watched, lambda: naming_first_cause(watched, lambda: join(spec)))


if __name__ == "__main__":
    sys.exit(run_gate(main))
