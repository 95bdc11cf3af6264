"""The errors that a container's log tells: tracebacks, and what is told in one line.

Several processes write into one log, and their lines mix: each process is read for itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tandem.gates.error_kinds import Kind, kind_of
from tandem.gates.error_marks import Mark, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.gates.log_lines import Line

_HEADER = "Traceback (most recent call last):"
_REMOTE = re.compile(r"\bray::\S.{0,300}?\(pid=(\d+)(?:, ip=([\w.:]+))?")
_FRAME = re.compile(r'\s*File "([^"]{1,500})", line (\d+)(?:,? in (\S{1,100}))?')
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]{0,200})(?:\(\w{1,100}\))?(?:: ?(.*))?$")
_LOWER = {"error", "gaierror", "herror", "timeout"}
"""Names of exceptions that do not begin with a capital letter, in socket and elsewhere."""
_BARE = re.compile(r"[\w.]*(?:Error|Exception)$")
_CHAINED = ("During handling of the above exception", "The above exception was the direct cause")
_NOISE = ("Exception ignored in", "Exception ignored on", "Error in atexit", "Error in sys.")
"""What Python says before a traceback that ends nothing."""
_ENDING = {"shutdown", "__del__", "_exitfunc", "_run_exitfuncs", "teardown", "_cleanup"}
"""Functions that run when all is over: what is raised there hides the cause."""
_GROUP = re.compile(r"\s{0,20}[+|] ")
_OPEN = re.compile(r"validation errors? for|:$")
"""Messages that go on in the next line."""
_PLACE_OF_ACTOR = re.compile(r"(?:^\s*|\(|, )(pid|ip|IP)(?:: |=)([\w.:]+)")
_MOST_FRAMES = 500
_TELLING = 400
"""Characters of a message that tell what kind of error it is."""
_DETAILS = 6
_DETAILS_WITHIN = 40


@dataclass(frozen=True)
class LoggedError:
    """An error where it is told first by its process; what is not known is empty."""

    line: Line
    """Its first line."""
    error: str
    kind: Kind
    frame: str = ""
    """The last one: ``file.py:123 (function)``, or a place in C++."""
    rank: str = ""
    pid: str = ""
    address: str = ""


@dataclass
class _Traceback:
    """A traceback that has begun."""

    line: Line
    is_noise: bool
    pid: str = ""
    address: str = ""
    frame: str = ""
    functions: set[str] = field(default_factory=set)
    frames: int = 0

    def add(self, match: re.Match[str]) -> None:
        """Take in a frame."""
        self.frames += 1
        name = match[1].replace("\\", "/").rpartition("/")[2]
        function = match[3] or "<module>"
        self.frame = f"{name}:{match[2]} ({function})"
        self.functions.add(name if name == "resource_tracker.py" else function)

    @property
    def is_of_an_end(self) -> bool:
        """Tell whether it was raised while something was taken down."""
        return not self.functions.isdisjoint({*_ENDING, "resource_tracker.py"})


def errors_in(lines: Sequence[Line]) -> Iterator[LoggedError]:
    """Return the errors in the order of the log. Several of them may be one and the same."""
    reader = _Reader(lines)
    for index in range(len(lines)):
        yield from reader.read(index)
    yield from reader.crashes()


class _Reader:
    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._open: dict[str, _Traceback] = {}
        self._noise: set[str] = set()
        """Processes whose next traceback ends nothing."""
        self._crashed: dict[str, LoggedError] = {}
        """What ended a process, until the frame that it was in is known."""

    def read(self, index: int) -> Iterator[LoggedError]:
        """Read a line, which may end a traceback or be an error of its own."""
        line = self._lines[index]
        text = _GROUP.sub("", line.text, count=1)
        bare = text.strip()
        process = line.process
        if line.is_low:
            # No error to whoever wrote it; only Ray warns of what has died.
            yield from self._mark(line, bare)
        elif bare.startswith(_NOISE):
            self._noise.add(process)
        elif bare.endswith(_HEADER):
            self._begin(line)
        elif remote := _REMOTE.search(bare):
            self._begin(line, remote[1], remote[2] or "")
        elif frame := _FRAME.match(text):
            yield from self._frame(process, frame)
        elif exception := self._exception(text, line):
            yield from self._end(index, exception)
        elif not bare.startswith(_CHAINED) and (bare or line.is_fatal):
            yield from self._mark(line, bare)

    def crashes(self) -> Iterator[LoggedError]:
        """Return what ended a process and showed no frame."""
        yield from self._crashed.values()

    def _begin(self, line: Line, pid: str = "", address: str = "") -> None:
        is_noise = line.process in self._noise
        self._open[line.process] = _Traceback(line, is_noise, pid, address)

    def _frame(self, process: str, frame: re.Match[str]) -> Iterator[LoggedError]:
        traceback = self._open.get(process)
        if traceback is not None and traceback.frames < _MOST_FRAMES:
            traceback.add(frame)
        elif crash := self._crashed.pop(process, None):
            # faulthandler shows the most recent call first.
            only = _Traceback(crash.line, is_noise=False)
            only.add(frame)
            yield replace(crash, frame=only.frame)

    def _exception(self, text: str, line: Line) -> re.Match[str] | None:
        """Return an exception's line: the end of a traceback, or one whose traceback is missing."""
        found = _EXCEPTION.match(text)
        if found is None:
            return None
        last = found[1].rpartition(".")[2]
        if line.process in self._open:
            return found if last[:1].isupper() or last in _LOWER else None
        return found if (line.level or found[2]) and _BARE.match(found[1]) else None

    def _end(self, index: int, exception: re.Match[str]) -> Iterator[LoggedError]:
        line = self._lines[index]
        traceback = self._open.pop(line.process, None)
        traceback = traceback or _Traceback(line, is_noise=line.process in self._noise)
        details = list(self._details(index))
        # What is raised while noise is handled is noise, too.
        is_chained = any(detail.startswith(_CHAINED) for detail in details)
        if traceback.is_noise and is_chained:
            self._noise.add(line.process)
        else:
            self._noise.discard(line.process)
        if traceback.is_noise:
            return
        message = (exception[2] or "")[:_TELLING]
        kind = kind_of(exception[1], message, "\n".join(details))
        places = (_PLACE_OF_ACTOR.finditer(detail) for detail in details)
        actor = {place[1].lower(): place[2] for found in places for place in found}
        yield LoggedError(
            line=traceback.line,
            error=_whole(exception[0], details),
            kind=Kind.ECHO if traceback.is_of_an_end else kind,
            frame=traceback.frame,
            rank=line.rank,
            pid=traceback.pid or actor.get("pid", "") or line.pid,
            address=traceback.address or actor.get("ip", "") or line.address,
        )

    def _details(self, index: int) -> Iterator[str]:
        """Return the next lines of a process that belong to its exception."""
        first = self._lines[index]
        count = 0
        for line in self._lines[index + 1 : index + 1 + _DETAILS_WITHIN]:
            if line.process != first.process:
                continue
            count += 1
            if count > _DETAILS or line.text.endswith(_HEADER) or line.level != first.level:
                return
            yield line.text[:_TELLING]

    def _mark(self, line: Line, text: str) -> Iterator[LoggedError]:
        mark = mark_of(text)
        if mark is None and line.is_fatal:
            words = text[max(text.find("Check failed:"), 0) :]
            mark = Mark(words, kind_of("", words))
        if mark is None:
            return
        error = LoggedError(
            line=line,
            error=mark.error,
            kind=mark.kind,
            frame=mark.place or line.place,
            rank=line.rank or mark.rank,
            pid=mark.pid or line.pid,
            address=mark.address or line.address,
        )
        if text.startswith(("Fatal Python error", "***")) and mark.kind is Kind.CAUSE:
            self._crashed.setdefault(line.process, error)
        else:
            yield error


def _whole(error: str, details: Sequence[str]) -> str:
    """Return an exception's line with the part of its message that stands below."""
    if not _OPEN.search(error):
        return error
    words = [error]
    for detail in details[:3]:
        words.append(detail.strip().partition(" [type=")[0])
        if " [type=" in detail or error.endswith(":"):
            break
    return " ".join(words)
