"""Whether a host is free again once a deployment's containers are removed.

`record` notes the host's memory before any container of the deployment is there. `check` waits
until nothing of the deployment is left and that memory is back.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from tandem.errors import GateFailed
from tandem.gates.containers import LOOK_SECONDS, say, unreachable
from tandem.gates.keep import LET_GO
from tandem.gates.run import run_gate
from tandem.gates.spec import ReleaseSpec
from tandem.ssh import last_line

if TYPE_CHECKING:
    from collections.abc import Sequence

POLL_SECONDS = 2
SAY_SECONDS = 10
"""How often the wait tells what it waits for: figures change all the time."""
LEAST_BOUND = 2 * 1024**3
BOUND_SHARE = 0.05
"""Without a declared bound: 2 GiB, or this share of the memory where that is more."""
_KIB, _MIB, _GIB = 1024, 1024**2, 1024**3
_MEMORY = ("MemTotal", "MemAvailable", "AnonPages", "RssShmem")


@dataclass(frozen=True)
class Figures:
    """A host's memory at one moment, in bytes."""

    total: int
    available: int
    """MemAvailable: page cache counts as free."""
    anonymous: int
    """AnonPages: what processes hold of their own, each page once."""
    shared: int
    """RssShmem of all processes: a page counts once for each process that has it."""
    gpu: int | None
    """Memory in use on all GPUs; None without one, or where GPU and CPU share one memory."""
    gpu_processes: int | None
    """What the processes on the GPUs hold of it; None where that is not told."""


@dataclass(frozen=True)
class Process:
    """A process of a container that Docker has forgotten."""

    pid: int
    state: str
    container: str
    name: str
    gpu: int | None
    """GPU memory that it holds, in bytes."""

    def __str__(self) -> str:
        gpu = f", with {self.gpu / _GIB:.2f} GiB of GPU memory" if self.gpu else ""
        return f"process {self.pid} ({self.name}, state {self.state}) of {self.container}{gpu}"


@dataclass(frozen=True)
class Look:
    """What is on a host of a deployment."""

    figures: Figures
    containers: tuple[str, ...]
    processes: tuple[Process, ...]


def record(spec: ReleaseSpec, before: str = "") -> dict[str, Any]:
    """Return the host's memory before the start; what was noted earlier stays as it was.

    Empty where containers of the deployment are there already. Raises GateFailed when the host
    does not answer.
    """
    if before:
        earlier: dict[str, Any] = json.loads(before)
        return earlier
    look = _look(spec)
    return {} if look.containers else asdict(look.figures)


def check(spec: ReleaseSpec, before: str) -> dict[str, Any]:
    """Wait until nothing of the deployment is left; return the seconds that took.

    ``before`` is what `record` returned, as JSON. Raises GateFailed with process or figure when
    something is left at the deadline, and when the host does not answer.
    """
    noted = json.loads(before) if before else {}
    known = Figures(**noted) if noted else None
    started = time.monotonic()
    next_said = started
    while problems := _left(spec, known, _look(spec)):
        now = time.monotonic()
        if now - started > spec.timeout_seconds:
            raise GateFailed(_report(spec, problems))
        if now >= next_said:
            say(f"waiting until {spec.host} is free: {'; '.join(problems)}")
            next_said = now + SAY_SECONDS
        time.sleep(POLL_SECONDS)
    seconds = time.monotonic() - started
    memory = "" if known else " (its memory before the start is not known)"
    say(f"{spec.host} is free after {seconds:.0f} s{memory}")
    return {"seconds": round(seconds)}


def held(before: Figures, now: Figures) -> int:
    """Return the bytes of memory that are gone since ``before`` and that no process explains.

    Pages that processes share are counted too often, so only more of them explains anything.
    """
    anonymous = now.anonymous - before.anonymous
    shared = max(0, now.shared - before.shared)
    # Where GPU and CPU share one memory, other programs on the GPU take from it, too.
    is_unified = now.gpu is None
    gpu = (now.gpu_processes or 0) - (before.gpu_processes or 0) if is_unified else 0
    return before.available - now.available - anonymous - shared - gpu


def gpu_held(before: Figures, now: Figures) -> int:
    """Return the bytes of GPU memory in use since ``before`` that no process on a GPU explains."""
    if None in (before.gpu, now.gpu, before.gpu_processes, now.gpu_processes):
        return 0
    used = (now.gpu or 0) - (before.gpu or 0)
    return used - ((now.gpu_processes or 0) - (before.gpu_processes or 0))


def read_look(text: str) -> Look | None:
    """Read what release.sh printed; None where it is not all there, as the script did not run."""
    facts: dict[str, list[str]] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        facts.setdefault(word, []).append(rest)
    if not facts.keys() >= set(_MEMORY):
        return None
    total, available, anonymous, shared = (int(facts[word][0]) * _KIB for word in _MEMORY)
    used = [_mebibytes(size) for size in facts.get("gpu", [])]
    by_process = [line.rpartition(" ") for line in facts.get("gpu-process", [])]
    gpu_of = {pid: _mebibytes(size) for pid, _, size in by_process}
    processes = []
    for line in facts.get("process", []):
        pid, state, container, name = line.split(" ", 3)
        processes.append(Process(int(pid), state, container, name, gpu_of.get(pid)))
    gpu = _sum(used) if used else None
    figures = Figures(total, available, anonymous, shared, gpu, _sum(list(gpu_of.values())))
    return Look(figures, tuple(facts.get("container", [])), tuple(processes))


def _look(spec: ReleaseSpec) -> Look:
    script = resources.files(__package__ or "").joinpath("release.sh").read_text()
    words = ("sh", "-s", "--", spec.stack)
    why = unreachable(spec.target)
    if not why:
        answer = spec.target.run(*words, stdin=script, timeout=LOOK_SECONDS)
        look = read_look(answer.stdout) if answer.returncode == 0 else None
        if look is not None:
            return look
        why = last_line(answer.stderr) or "it did not run the script that looks"
    raise GateFailed(
        f"host {spec.host} does not tell what is left of the deployment: {why}\n"
        f"bring it back and run the same command again, or let it go: {LET_GO}"
    )


def _left(spec: ReleaseSpec, before: Figures | None, look: Look) -> list[str]:
    """Return what is left of the deployment, one line for each."""
    lines = [f"container {name} is there" for name in look.containers]
    lines += [f"{process} is there" for process in look.processes]
    if lines or before is None:
        return lines
    now = look.figures
    bound = spec.memory_bytes or max(LEAST_BOUND, round(before.total * BOUND_SHARE))
    if (size := held(before, now)) > bound:
        figures = _figures(before.available, now.available, bound)
        lines.append(f"{_gib(size)} of memory are held by no process: available {figures}")
    if (size := gpu_held(before, now)) > bound:
        figures = _figures(before.gpu or 0, now.gpu or 0, bound)
        lines.append(f"{_gib(size)} of GPU memory are held by no process: in use {figures}")
    return lines


def _report(spec: ReleaseSpec, problems: Sequence[str]) -> str:
    lines = [f"{spec.host} is not free {spec.timeout_seconds} s after its containers were removed:"]
    lines += [f"{spec.host}: {problem}" for problem in problems]
    if problems[0].startswith("container "):
        way = "remove it there with `docker rm --force`"
    elif problems[0].startswith("process "):
        way = f"end it there with `kill -9`; in state D only a reboot of {spec.host} ends it"
    else:
        way = (
            f"look for files in memory there (`df -h -t tmpfs`), or reboot {spec.host}; where "
            "something else took that memory, raise `tandem:release` in the stack file and run "
            "`pulumi up --target '**-release'`"
        )
    return "\n".join([*lines, f"{way}; then run the same command again"])


def _figures(before: int, now: int, bound: int) -> str:
    return f"{_gib(before)} before the start, {_gib(now)} now, bound {_gib(bound)}"


def _gib(size: int) -> str:
    return f"{size / _GIB:.2f} GiB"


def _mebibytes(text: str) -> int | None:
    """Return a size in bytes; None for what nvidia-smi writes where it does not know, ``[N/A]``."""
    return int(text) * _MIB if text.strip().isdigit() else None


def _sum(sizes: Sequence[int | None]) -> int | None:
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def main(text: str) -> dict[str, Any]:
    """Run as Pulumi does: the last result is in the environment."""
    spec, before = ReleaseSpec.from_json(text), os.environ.get("PULUMI_COMMAND_STDOUT", "")
    return check(spec, before) if sys.argv[1:] == ["check"] else record(spec, before)


if __name__ == "__main__":
    sys.exit(run_gate(main))
