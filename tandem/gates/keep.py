"""Keeps the logs of containers on their hosts: before one is removed, and when a gate gives up.

They are in ``$XDG_STATE_HOME/tandem/STACK/CONTAINER`` of the host, ``~/.local/state`` where that
variable is not set: a file of JSON and the log's end beside it, named by the time in UTC.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING

from tandem.errors import GateFailed
from tandem.gates.containers import say, unreachable
from tandem.gates.run import run_gate
from tandem.gates.spec import KeepSpec
from tandem.ssh import UNREACHABLE, last_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tandem.gates.spec import Watched

REMOVED = "removed"
"""Why a log is kept where its container goes; another one may take its place."""

KEEP_SECONDS = 45
"""How long keeping one log may take: its parts end by themselves after 10, 10 and 20 seconds."""

LET_GO = "set `retired: true` for it in the stack file and run `pulumi destroy --run-program`"

_NOT_WRITTEN = 4
_KEPT, _GONE = "kept", "gone"
"""What keep.sh says."""


def keep(spec: KeepSpec) -> dict[str, str | None]:
    """Keep the log of a container that is about to go; return whose log is kept, None if none is.

    A container that is gone has none, and a disk that is full must not keep a container alive.
    Raises GateFailed when the host or its Docker does not answer: nothing can be removed then.
    """
    watched = spec.watched
    stack, problem = _keep(watched, spec.id, REMOVED)
    if problem is None:
        kept = f"kept the log of {watched.container} on {watched.host}" if stack else None
        say(kept or f"{watched.container} is not on {watched.host} any more: no log to keep")
        return {"kept": watched.container if stack else None}
    code, words = problem
    if code == _NOT_WRITTEN:
        say(f"warning: the log of {watched.container} can't be kept on {watched.host}: {words}")
        return {"kept": None}
    raise GateFailed(_stuck(spec, code, words))


def keeping_logs(gate: str, watched: Sequence[Watched], work: Callable[[], object]) -> object:
    """Return what a gate's work gives; when it gives up, keep the logs and say how to read them."""
    try:
        return work()
    except GateFailed as failed:
        with ThreadPoolExecutor(max_workers=len(watched)) as pool:
            results = list(pool.map(lambda item: _keep(item, item.container, gate), watched))
        lines = [str(failed)]
        for item, (_, problem) in zip(watched, results, strict=True):
            if problem is not None:
                lines.append(f"the log of {item.container} is not kept: {problem[1]}")
        stacks = {stack for stack, _ in results if stack}
        lines += [f"logs are kept: `python -m tandem logs {s} --previous`" for s in stacks]
        raise GateFailed("\n".join(lines)) from None


def _keep(watched: Watched, id: str, reason: str) -> tuple[str | None, tuple[int, str] | None]:
    """Return the stack whose log is kept, None if there is none, and what went wrong."""
    why = reason if reason == REMOVED else f"gave-up:{reason}"
    words = (watched.container, id, watched.host, why)
    if silence := unreachable(watched.target):
        return None, (UNREACHABLE, silence)
    script = resources.files(__package__ or "").joinpath("keep.sh").read_text()
    answer = watched.target.run("sh", "-s", "--", *words, stdin=script, timeout=KEEP_SECONDS)
    if answer.returncode != 0:
        said = last_line(answer.stderr) or f"exit status {answer.returncode}"
        return None, (answer.returncode, said)
    word, _, stack = answer.stdout.strip().partition(" ")
    if word not in (_KEPT, _GONE):
        return None, (answer.returncode, "it did not run the script that keeps logs")
    return (stack if word == _KEPT else None), None


def _stuck(spec: KeepSpec, code: int, words: str) -> str:
    """Say what still runs where, what comes back by itself, and the ways on."""
    watched = spec.watched
    what = "does not answer" if code == UNREACHABLE else "can't tell of its containers"
    lines = [
        f"host {watched.host} {what}: {words}",
        f"not confirmed as removed, and kept in the state: {watched.container} on {watched.host}",
    ]
    if spec.holds:
        lines.append(f"it goes before these, which stay, too: {', '.join(spec.holds)}")
    lines += [
        f"when {watched.host} boots, Docker starts again what ran there",
        f"bring {watched.host} back and run the same command again, or let it go: {LET_GO}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run_gate(lambda text: keep(KeepSpec.from_json(text))))
