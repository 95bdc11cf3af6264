"""The ranks gate: exactly the declared ranks of vLLM have joined, each on its host."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING

from tandem.errors import GateFailed
from tandem.gates.causes import naming_first_cause
from tandem.gates.containers import LOOK_SECONDS, Watch, log_tail, say, with_log
from tandem.gates.keep import keeping_logs
from tandem.gates.rank_evidence import missing, read_evidence, wrong
from tandem.gates.run import run_gate
from tandem.gates.spec import RanksSpec
from tandem.remote.generation import BROKEN

if TYPE_CHECKING:
    from tandem.gates.containers import ContainerState
    from tandem.gates.rank_evidence import Evidence
    from tandem.gates.spec import Watched

POLL_SECONDS = 2
ENDED = "tandem: the command ended: "
"""How supervise.py says in a container's log why what runs there has ended."""


def ranks(spec: RanksSpec) -> dict[str, object]:
    """Wait until the ranks are exactly what was declared; return their hosts and their backend.

    Raises GateFailed at the deadline, when a container ends, or when containers differ in image or
    arguments: vLLM compares neither.
    """
    started = time.monotonic()
    guard = _Guard(spec)
    said = None
    while True:
        states = guard.check()
        seen = _look(spec)
        if problems := wrong(spec, seen):
            raise GateFailed("\n".join(problems))
        absent = missing(spec, seen)
        if not absent:
            break
        if absent != said:
            say(f"waiting: {'; '.join(absent)}")
            said = absent
        if time.monotonic() - started > spec.timeout_seconds:
            raise GateFailed(_report(spec, states, absent))
        time.sleep(POLL_SECONDS)
    lines = [line for evidence in seen.values() if evidence for line in evidence.lines]
    found = {str(rank): host.watched.host for host in spec.hosts for rank in host.ranks}
    say(f"joined: {len(found)} ranks after {time.monotonic() - started:.0f} s")
    return {"ranks": found, "backend": lines[0].backend}


class _Guard:
    """Ends the wait when a container has ended, also where Docker has started it again.

    One that ended because its group is broken starts again and joins the next one: where `up`
    replaces a rank before the server, the new rank has met the old server.
    """

    def __init__(self, spec: RanksSpec) -> None:
        self._watch = Watch([host.watched for host in spec.hosts])
        self._restarts: dict[str, int] = {}

    def check(self) -> list[ContainerState]:
        """Return the containers' states; raise GateFailed when one has ended."""
        states = self._watch.look()
        ended = []
        for state in states:
            if state.status == "unreachable":
                continue  # nothing was seen; Watch counts how often
            before = self._restarts.setdefault(state.watched.container, state.restarts)
            if state.is_down or state.restarts > before:
                ended.append(state)
        for state in ended:
            if not _comes_back(state):
                raise GateFailed(with_log(state))
            self._restarts[state.watched.container] = state.restarts
        return states


def _comes_back(state: ContainerState) -> bool:
    """Tell whether it ended only because another one did, and Docker starts it again."""
    ends = [line for line in log_tail(state.watched).splitlines() if line.startswith(ENDED)]
    return state.status in {"restarting", "running"} and bool(ends) and BROKEN in ends[-1]


def _look(spec: RanksSpec) -> dict[str, Evidence | None]:
    """Return what each host shows, by its container."""
    script = resources.files(__package__ or "").joinpath("ranks.sh").read_text()

    def look(watched: Watched) -> Evidence | None:
        words = ("sh", "-s", "--", watched.container)
        return read_evidence(watched.target.run(*words, stdin=script, timeout=LOOK_SECONDS).stdout)

    with ThreadPoolExecutor(max_workers=len(spec.hosts)) as pool:
        seen = list(pool.map(look, [host.watched for host in spec.hosts]))
    return {host.watched.container: one for host, one in zip(spec.hosts, seen, strict=True)}


def _report(spec: RanksSpec, states: list[ContainerState], absent: list[str]) -> str:
    """Say which ranks are missing after the deadline, and what is known of their containers."""
    lines = [f"not joined after {spec.timeout_seconds} s: {'; '.join(absent)}"]
    named = [
        state
        for host, state in zip(spec.hosts, states, strict=True)
        if any(host.watched.host in line or host.address in line for line in absent)
    ]
    lines += [with_log(state) for state in named or states[:1]]
    return "\n".join(lines)


def main(text: str) -> object:
    """Run the gate as Pulumi does: where it gives up, logs are kept and the first cause is told."""
    spec = RanksSpec.from_json(text)
    watched = [host.watched for host in spec.hosts]
    return keeping_logs("ranks", watched, lambda: naming_first_cause(watched, lambda: ranks(spec)))


if __name__ == "__main__":
    sys.exit(run_gate(main))
