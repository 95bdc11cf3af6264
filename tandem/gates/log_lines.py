"""One line of a container's log: when it was written, by which process of which rank, and what.

A line may carry several prefixes: Ray's for a process elsewhere, vLLM's for its own, the level of
vLLM, Ray, PyTorch or uvicorn. Sources: vllm/logger.py (0.6 to 0.32), ray/_private/worker.py,
ray/_private/ray_logging (2.60), torch/csrc/distributed/c10d.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

QUARTER = 900.0
"""Seconds."""

LONGEST_LINE = 2000
"""Characters of a line that are looked at."""

_TIMED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z) ?")
_COLOURS = re.compile(r"\x1b\[[0-?]{0,30}[ -/]{0,5}[@-~]")
_REPEATED = re.compile(r" \[repeated \d+x across cluster\]")
_MOST_PREFIXES = 8

_LEVEL = "DEBUG|INFO|WARNING|ERROR|CRITICAL"
_PLACE = r"[\w./-]{1,200}:\d+"
_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        # (EngineCore_DP0 pid=7), (VllmWorker rank=1 pid=7), (RayWorkerProc pid=7, ip=10.0.0.2)
        r"\((?P<process>(?:[^()]{0,120}\bpid=\d+|raylet|autoscaler)[^()]{0,80})\)(?: |$)",
        r"\[rank(?P<rank>\d+)\]:(?: |(?=\[)|$)",
        rf"(?P<vllm>{_LEVEL}) +\d\d-\d\d \d\d:(?P<minute>\d\d):(?P<second>\d\d)(?:[.,]\d+)? +"
        rf"\[?{_PLACE}\[?\](?: |$)",
        # [E1103 23:14:03.342459398 ProcessGroupNCCL.cpp:2068], [W socket.cpp:432]
        rf"\[(?P<torch>[EWIF])(?:\d{{3,4}} [\d:.]+)? (?P<place>{_PLACE})\](?: |$)",
        rf"(?P<python>[EWIF])\d{{4}} [\d:.]+ \d+ {_PLACE}\](?: |$)",
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ (?P<ray>[DIWEC]) \d+ \d+\]"
        rf"(?: \(\w+\))? (?P<source>{_PLACE}):(?: |$)",
        rf"\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\s(?P<driver>{_LEVEL}) {_PLACE} --(?: |$)",
        rf"(?P<uvicorn>{_LEVEL}): {{2,8}}",
        rf"(?P<root>{_LEVEL}):[\w.]{{1,100}}:",
    )
)
_LOW = {"DEBUG", "INFO", "WARNING", "D", "I", "W"}
_PASSED_ON = re.compile(r"\bip=|\bRay\w+ pid=|^pid=")
"""Processes whose lines Ray's driver prints, as late as its own output is written."""
_PID = re.compile(r"\bpid=(\d+)")
_ADDRESS = re.compile(r"\bip=([\w.:]+)")
_RANK = re.compile(r"\brank=(\d+)")
_WORKER = re.compile(r"Worker((?:_[DPCTE]{1,3}P\d+)+)\b")


@dataclass(frozen=True)
class Line:
    """A line as it is to be read."""

    time: float
    """Seconds since 1970, by the host's clock."""
    stamp: str
    """The same as Docker wrote it."""
    text: str
    """What stands after all prefixes; an indentation stays."""
    process: str = ""
    """All that tells processes of one log apart; empty where nothing does."""
    pid: str = ""
    address: str = ""
    """The host of the process by its address; empty where it is the one that logged it."""
    rank: str = ""
    """As far as the line names it: ``1``, or ``PP1_TP0`` where only its groups are named."""
    level: str = ""
    place: str = ""
    """Where in Ray's or PyTorch's C++ it was written."""
    noted: float | None = None
    """Seconds into a quarter of an hour, as the process noted it itself by the clock of its host;
    None for a line that Ray did not pass on. Time zones differ by whole quarters."""

    @property
    def is_low(self) -> bool:
        """Tell whether whoever wrote it called it less than an error."""
        return self.level in _LOW

    @property
    def is_fatal(self) -> bool:
        """Tell whether Ray's C++ ends with it."""
        return self.level == "C"


def seconds_of(stamp: str) -> float | None:
    """Return a time as Docker writes it in seconds since 1970; None where it is none."""
    try:
        return datetime.fromisoformat(stamp).timestamp() if _TIMED.fullmatch(stamp) else None
    except ValueError:
        return None


def read_line(written: str) -> Line | None:
    """Return a line of `docker logs --timestamps`; None for one without a time: Docker's own."""
    timed = _TIMED.match(written)
    time = seconds_of(timed[1]) if timed else None
    if timed is None or time is None:
        return None
    text = written[timed.end() : timed.end() + LONGEST_LINE]
    # Of a progress bar, what it shows last.
    text = _COLOURS.sub("", text.rstrip("\r\n")).rpartition("\r")[2]
    repeated = _REPEATED.search(text)
    found = _Prefixes()
    rest = found.take(text[: repeated.start()] if repeated else text)
    return Line(
        time=time,
        stamp=timed[1],
        text=rest,
        process=" ".join(found.processes),
        pid=found.pid,
        address=found.address,
        rank=found.rank,
        level=found.level,
        place=found.place,
        noted=found.noted if _PASSED_ON.search(" ".join(found.processes)) else None,
    )


@dataclass
class _Prefixes:
    """What the prefixes of a line say together; the last one knows the process best."""

    processes: list[str] = field(default_factory=list)
    pid: str = ""
    address: str = ""
    rank: str = ""
    level: str = ""
    place: str = ""
    noted: float | None = None

    def take(self, text: str) -> str:
        """Read the prefixes; return what stands after them."""
        for _ in range(_MOST_PREFIXES):
            matches = (pattern.match(text) for pattern in _PREFIXES)
            match = next((match for match in matches if match), None)
            if match is None:
                break
            self._note(match)
            text = text[match.end() :]
        return text

    def _note(self, match: re.Match[str]) -> None:
        groups = {name: value for name, value in match.groupdict().items() if value}
        if "process" in groups:
            self._note_process(groups["process"])
        elif "rank" in groups:
            self.rank = groups["rank"]
            self.processes.append(match[0])
        else:
            self.place = groups.pop("place", "") or groups.pop("source", "") or self.place
            if "minute" in groups:
                self.noted = int(groups["minute"]) * 60.0 % QUARTER + int(groups["second"])
            self.level = next(iter(groups.values()))

    def _note_process(self, words: str) -> None:
        self.processes.append(words)
        if pid := _PID.search(words):
            self.pid = pid[1]
        if address := _ADDRESS.search(words):
            self.address = address[1]
        if rank := _RANK.search(words):
            self.rank = rank[1]
        elif worker := _WORKER.search(words):
            self.rank = _rank_of(worker[1].strip("_").split("_"))


def _rank_of(groups: list[str]) -> str:
    """Return the rank of a worker that is named by its groups, or their names where they differ.

    vLLM leaves out groups of one, so TP alone, or PP alone, is the rank (multiproc_executor.py).
    """
    named = [group for group in groups if not group.startswith(("EP", "DCP"))]
    if len(named) == 1 and not named[0].startswith("DP"):
        return named[0].lstrip("TPC")
    return "_".join(named)
