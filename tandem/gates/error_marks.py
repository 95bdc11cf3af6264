"""Errors that are told in one line and without a traceback: of NCCL, Ray, shells and programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tandem.gates.error_kinds import Kind, kind_of, kind_of_exit


@dataclass(frozen=True)
class Mark:
    """What a line says of an error; what it does not say is empty."""

    error: str
    kind: Kind
    place: str = ""
    """The source that wrote it, where the line says so."""
    rank: str = ""
    pid: str = ""
    address: str = ""
    """Of the host that it happened on, where that is another one than the line's."""


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    kind: Kind | Callable[[re.Match[str]], Kind]
    words: str = r"\g<0>"
    """What is told, with the groups of the pattern."""
    hint: str = ""
    """Words that every line of this rule has: most lines have none, and are not matched."""


def _by_words(match: re.Match[str]) -> Kind:
    return kind_of("", match["words"])


def _by_exit(match: re.Match[str]) -> Kind:
    return kind_of_exit(match["code"] or "")


def _rule(
    pattern: str,
    kind: Kind | Callable[[re.Match[str]], Kind],
    words: str = r"\g<0>",
    hint: str = "",
) -> _Rule:
    return _Rule(re.compile(pattern), kind, words, hint)


_SHELL = r"(?:\S{1,100}/)?(?:ba|da|z|k|a)?sh: (?:line )?(?:\d+: )?"
_RULES = (
    # torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
    _rule(
        r"(?:\[[^\]]{0,80}Rank (?P<rank>\d+)\] )?(?P<words>Watchdog caught collective .*)",
        Kind.END,
        r"\g<words>",
        "Watchdog",
    ),
    _rule(
        r"(?:\[[^\]]{0,80}Rank (?P<rank>\d+)\] )?Process group watchdog thread terminated with "
        r"exception: (?:\[Rank \d+\] )?(?P<words>.*)",
        _by_words,
        r"\g<words>",
        "watchdog thread",
    ),
    _rule(r"what\(\): +(?P<words>\S.*)", _by_words, r"\g<words>", "what()"),
    _rule(
        r"Unhandled exception: \S{1,200} what\(\): (?P<words>.*)",
        _by_words,
        r"\g<words>",
        "Unhandled",
    ),
    # src/debug.cc of NCCL
    _rule(
        r"(?:\[[^\]]{1,40}\] )?\S{1,200}:(?P<pid>\d+):\d+ \[\d+\] "
        r"(?:(?P<place>[\w./]{1,100}:\d+) )?(?P<words>NCCL WARN .*)",
        lambda match: Kind.LOST if _by_words(match) is Kind.LOST else Kind.WARNING,
        r"\g<words>",
        "NCCL WARN",
    ),
    # vllm/v1/executor/multiproc_executor.py, ray_executor_v2.py, vllm/v1/utils.py
    _rule(
        r"Worker proc \S{1,40}?-(?P<rank>\d+) died unexpectedly(?: \(exit code: (?P<code>-?\d+)\))?"
        r"|Worker VllmWorkerProcess pid (?P<pid>\d+) died, exit code: (?P<old>-?\d+)",
        lambda match: kind_of_exit(match["code"] or match["old"] or ""),
        hint="died",
    ),
    _rule(r"RayWorkerProc rank=\[(?P<rank>\d+)\] died unexpectedly", Kind.END, hint="died"),
    _rule(r"Engine core proc \S{1,80} died unexpectedly", Kind.END, hint="died"),
    # src/ray/raylet/node_manager.cc, src/ray/gcs, python/ray/scripts/scripts.py
    _rule(
        r"\d+ Workers? ?\(tasks / actors\) killed due to memory pressure \(OOM\)"
        r"(?:.{0,120}?IP: (?P<address>[\w.:]+)\))?|\d+ worker\(s\) were killed due to the node .*",
        Kind.CAUSE,
        hint="killed due to",
    ),
    _rule(
        r"A worker died or was killed while executing a task by an unexpected system error"
        r"(?:.{0,900}?Worker IP address: (?P<address>[\w.:]+))?(?:.{0,100}?PID: (?P<pid>\d+))?.*",
        Kind.END,
        "a worker of Ray died or was killed",
        "A worker died",
    ),
    _rule(
        r"The node with node id: \S{1,80} and address: (?P<address>[\w.:]+) .{0,200}?"
        r"has been marked dead because [^.]{1,200}",
        Kind.END,
        r"the node of Ray at \g<address> has been marked dead",
        "marked dead",
    ),
    _rule(r"Failed to connect to GCS .*", Kind.LOST, hint="Failed to connect to GCS"),
    _rule(r"Raylet is terminated\.", Kind.END, hint="Raylet is terminated"),
    _rule(r"The raylet (?:exited immediately|fate shares) .*", Kind.END, hint="The raylet "),
    _rule(
        r"(?P<words>\w{1,40} \[exit code=(?P<code>-?\d+)\])",
        _by_exit,
        r"a process of Ray ended: \g<words>",
        "[exit code=",
    ),
    # Python's faulthandler, Ray's and PyTorch's handlers of signals
    _rule(r"Fatal Python error: (?!Aborted).{1,200}", Kind.CAUSE, hint="Fatal Python"),
    _rule(r"Fatal Python error: Aborted", Kind.END, hint="Fatal Python"),
    _rule(r"\*\*\* (?P<words>SIG(?:SEGV|BUS|ILL|FPE) received)", Kind.CAUSE, r"\g<words>", "***"),
    _rule(
        r"(?:\S{1,200}: line \d+: +\d+ )?(?P<words>Killed|Bus error|Segmentation fault)(?: .*)?",
        Kind.CAUSE,
        r"\g<words>",
    ),
    # programs that do not start
    _rule(r"[\w./-]{1,80}(?: [\w-]{1,40}){0,3}: error: .+", Kind.CAUSE, hint=": error: "),
    _rule(
        r"Error: (?:No such (?:option|command)|Invalid value|Missing|Got unexpected|Option).*",
        Kind.CAUSE,
        hint="Error: ",
    ),
    _rule(
        rf"{_SHELL}\S.*(?:not found|No such file|[Pp]ermission denied|cannot execute|format error"
        r"|[Ss]yntax error|unexpected).*",
        Kind.CAUSE,
        hint="sh: ",
    ),
    _rule(r"exec:? .{1,300}(?:not found|[Nn]o such file|denied|format error).*", Kind.CAUSE),
    _rule(
        r"(?:\S{1,100}/)?(?:env|python[\d.]{0,5}): .{0,20}(?:No such file|can't open|No module).*",
        Kind.CAUSE,
    ),
    _rule(r"\[Errno \d+\] (?P<words>error while attempting to bind .*)", Kind.CAUSE, r"\g<words>"),
    _rule(r"(?:Failed: )?[Cc][Uu][Dd][Aa] [Ee]rror:? \S.*'.{1,100}'", Kind.CAUSE, hint="rror"),
    # tandem/remote
    _rule(r"tandem: (?P<words>the image has no program .*)", Kind.CAUSE, r"\g<words>", "tandem"),
    _rule(r"tandem: (?P<words>stalled: .*)", Kind.END, r"\g<words>", "tandem"),
    _rule(
        r"tandem: (?P<words>.{1,20} ended: signal (?!2\b|15\b)\d+)",
        Kind.END,
        r"\g<words>",
        "tandem",
    ),
)


def mark_of(text: str) -> Mark | None:
    """Return what a line says without its prefixes and its indentation, if it tells an error."""
    for rule in _RULES:
        match = rule.pattern.match(text) if rule.hint in text else None
        if match:
            groups = match.groupdict()
            return Mark(
                error=match.expand(rule.words),
                kind=rule.kind if isinstance(rule.kind, Kind) else rule.kind(match),
                place=groups.get("place") or "",
                rank=groups.get("rank") or "",
                pid=groups.get("pid") or "",
                address=groups.get("address") or "",
            )
    return None
