"""The matrix of faults proves what it says: nothing passes for which nothing was broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast, get_args

import pytest
import yaml
from pydantic import ValidationError

from tests.faults import evidence_containers as containers
from tests.faults import evidence_hosts as hosts
from tests.faults.__main__ import LABS, judge
from tests.faults.evidence import Beside, Evidence, Interrupted, NoEvidence, Proof
from tests.faults.matrix import FOLDER, Fault, part, read_matrix
from tests.faults.ranks import Running
from tests.faults.record import Ending, Record, read_record
from tests.faults.sight import Container
from tests.faults.unharmed import see_words
from tests.project import Run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.faults.base import Kind
    from tests.faults.scene import Scene

NOBODY = cast("Scene", None)
FAULTS = read_matrix()
RUNS = Container("one", "running", "yesterday", 0)
ENDED = Container("one", "exited", "yesterday", 137)
LOOKS: dict[type[Kind], list[Any]] = {
    containers.Container: [None, RUNS, ENDED],
    containers.Ended: [0, 1, 9],
    containers.OutOfMemory: [frozenset(), frozenset({"1796091393"})],
    hosts.Process: [frozenset(), frozenset({7, 8})],
    hosts.Packets: [0, 12],
    hosts.Connection: [("answered",) * 4, ("refused",), ("silent",), ("closed",)],
    hosts.Disk: [0, 1, 3000],
    hosts.Image: [(), ("sha256:1",)],
    hosts.Version: ["0.32.0+cpu", "0.31.0+cpu", ""],
    hosts.File: [True, False],
    hosts.Clock: [0.0, 660.0],
    hosts.Traffic: [(0, 0.0), (1 << 40, 9.0)],
    Interrupted: [None, (-9, "Updating"), (1, "^C received; cancelling")],
    Beside: [(), ("the stack is currently locked by 1 lock(s)",)],
    containers.State: [("one", "one"), ("one", "other"), (None, None)],
}
"""What each kind may see before a fault: also what it looks for, as an earlier fault left it."""


def _all_kinds() -> set[type[Kind]]:
    return set(get_args(get_args(Evidence)[0]))


def _seeing(monkeypatch: pytest.MonkeyPatch, one: Kind, looks: list[Any]) -> None:
    """Let a kind of evidence see these, one after the other, and the last one for ever."""
    left = list(looks)
    monkeypatch.setattr(
        type(one), "see", lambda self, scene: left.pop(0) if len(left) > 1 else left[0]
    )


def test_every_kind_of_evidence_is_tested_here() -> None:
    assert LOOKS.keys() == _all_kinds()


def test_every_kind_of_evidence_is_in_use() -> None:
    assert {type(one) for fault in FAULTS for one in fault.evidence} == _all_kinds()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.slug)
def test_nothing_that_stays_as_it_was_shows_a_fault(
    fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fault.evidence
    for one in fault.evidence:
        for look in LOOKS[type(one)]:
            _seeing(monkeypatch, one, [look])
            with pytest.raises(NoEvidence):
                Proof(NOBODY, [one]).check(0)


@pytest.mark.parametrize(
    ("text", "before", "now"),
    [
        ("{kind: container, container: head, now: gone}", RUNS, None),
        ("{kind: container, container: web, host: lab-1, now: there}", None, RUNS),
        ("{kind: container, container: head, now: exited, status: 137}", RUNS, ENDED),
        (
            "{kind: container, container: head, now: started again}",
            RUNS,
            Container("one", "running", "today", 0),
        ),
        ("{kind: ended, container: head, how: signal 9, times: 2}", 1, 3),
        ("{kind: out-of-memory, container: head}", frozenset({"1"}), frozenset({"1", "2"})),
        (
            "{kind: process, named: x, called: x, now: another}",
            frozenset({7}),
            frozenset({9}),
        ),
        ("{kind: process, named: x, called: x, now: gone}", frozenset({7}), frozenset()),
        ("{kind: packets}", 0, 1),
        (
            "{kind: connection, at_once: 4, now: closed}",
            ("answered",) * 4,
            (*("answered",) * 3, "closed"),
        ),
        ("{kind: disk, free_mib: 1}", 3000, 0),
        ("{kind: image}", ("sha256:1",), ()),
        ("{kind: version, now: 0.31.0}", "0.32.0", "0.31.0"),
        ("{kind: file, path: /a}", True, False),
        ("{kind: clock, seconds: 600}", 0.2, 660.1),
        ("{kind: traffic, mib: 40, mbit: 8}", (5, 0.0), (5 + (40 << 20), 60.0)),
        ("{kind: interrupted, by: SIGKILL}", None, (-9, "Updating")),
        ("{kind: interrupted, by: SIGINT}", None, (255, "^C received; cancelling")),
        ("{kind: beside, says: locked}", (), ("it is locked",)),
        ("{kind: state}", ("one", "one"), ("one", "other")),
    ],
)
def test_what_a_fault_does_shows(
    text: str, before: object, now: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = _fault_with(evidence=[yaml.safe_load(text)]).evidence[0]
    _seeing(monkeypatch, one, [before, now])
    Proof(NOBODY, [one]).check(0)


@pytest.mark.parametrize(
    ("text", "before", "now"),
    [
        # Another container in its place, another status, another one that ended earlier.
        ("{kind: container, container: head, now: gone}", None, RUNS),
        ("{kind: container, container: head, now: exited, status: 143}", RUNS, ENDED),
        (
            "{kind: container, container: head, now: started again}",
            RUNS,
            Container("other", "running", "today", 0),
        ),
        ("{kind: ended, container: head, how: signal 9, times: 2}", 1, 2),
        ("{kind: process, named: x, called: x, now: gone}", frozenset({7}), frozenset({9})),
        ("{kind: process, named: x, called: x, now: another}", frozenset({7}), frozenset()),
        ("{kind: process, named: x, called: x, now: another}", frozenset({7, 8}), frozenset({8})),
        ("{kind: connection, now: refused}", ("answered",), ("silent",)),
        ("{kind: version, now: 0.31.0}", "0.32.0", ""),
        # Too little, too fast.
        ("{kind: traffic, mib: 40, mbit: 8}", (0, 0.0), (39 << 20, 60.0)),
        ("{kind: traffic, mib: 40, mbit: 8}", (0, 0.0), (40 << 20, 20.0)),
        ("{kind: interrupted, by: SIGKILL}", None, (1, "error: update failed")),
        ("{kind: interrupted, by: SIGINT}", None, (255, "error: update failed")),
    ],
)
def test_what_something_else_does_is_no_evidence(
    text: str, before: object, now: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = _fault_with(evidence=[yaml.safe_load(text)]).evidence[0]
    _seeing(monkeypatch, one, [before, now])
    with pytest.raises(NoEvidence):
        Proof(NOBODY, [one]).check(0)


def _fault_with(slug: str = "port-taken-during-up", **changes: Any) -> Fault:
    """Return a fault of the matrix with other parts."""
    data = yaml.safe_load((FOLDER / f"{slug}.yaml").read_text())
    return Fault(slug=slug, **(data | changes))


def test_a_fault_without_evidence_is_an_error_when_it_is_read() -> None:
    assert _fault_with().evidence
    with pytest.raises(ValidationError, match="evidence"):
        _fault_with(evidence=[])


@pytest.mark.parametrize(
    "expect",
    [
        {"says": []},
        {"says": ["lab-2"]},
        {"says": ["not joined"]},
        {"says": ["no space left on device"], "may_change": ["state"]},
        {"says": ["no space left on device"], "because": "it does"},
    ],
)
def test_a_refusal_without_a_sentence_or_a_reason_is_an_error(expect: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        _fault_with(expect={"ending": "refused"} | expect)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "panic: runtime error: index out of range\n",
        "Updating\ngoroutine 1 [running]:\nmain.main()",
        "fatal error: all goroutines are asleep - deadlock!",
        '  File "/somewhere/project/tandem/gates/join.py", line 60, in join\n',
        '  File "/somewhere/project/__main__.py", line 14, in <module>\n',
        '  File "/venv/lib/python3.11/site-packages/pulumi/runtime/stack.py", line 1, in run\n',
    ],
)
def test_a_command_that_crashes_or_says_nothing_fails(text: str) -> None:
    with pytest.raises(AssertionError):
        see_words(Run(1, text))


def test_a_traceback_of_vllm_in_a_log_is_no_crash() -> None:
    see_words(Run(1, 'File "/usr/lib/python3/dist-packages/vllm/engine.py", line 3, in start'))


def _vllm(**changes: set[int]) -> Running:
    sets = {"trees": {1}, "below": {2, 3}, "strays": set(), "ranks": {3}} | changes
    return Running(**{name: frozenset(pids) for name, pids in sets.items()})


def _endings(index: int) -> dict[str, Ending]:
    return {fault.slug: Ending(seconds=3) for fault in part(index, len(LABS))}


def test_a_whole_part_is_well() -> None:
    assert [judge(index, 0, _endings(index)) for index in range(len(LABS))] == ["", "", ""]


@pytest.mark.parametrize(
    ("code", "change", "words"),
    [
        (-9, lambda endings: None, "killed by signal 9"),
        (-9, lambda endings: endings.clear(), "killed by signal 9; not run: "),
        (0, lambda endings: endings.clear(), "not run: "),
        (0, lambda endings: endings.popitem(), "not run: "),
        (1, lambda endings: None, "exit status 1"),
        (
            0,
            lambda endings: endings.update(dict.fromkeys(endings, Ending(seconds=None))),
            "not as they have to be",
        ),
    ],
)
def test_a_part_that_is_killed_or_not_whole_fails_the_run(
    code: int, change: Callable[[dict[str, Ending]], object], words: str
) -> None:
    endings = _endings(1)
    change(endings)
    assert words in judge(1, code, endings)


def test_endings_are_there_after_every_fault(tmp_path: Path) -> None:
    file = tmp_path / "endings.json"
    assert read_record(file) == {}
    record = Record(file)
    record.note(FAULTS[0], Ending(seconds=None))
    assert read_record(file) == {FAULTS[0].slug: Ending(seconds=None)}
    record.note(FAULTS[0], Ending(seconds=2, stayed=["7 pulumi-resource-docker"]))
    record.note(FAULTS[1], Ending(seconds=3))
    assert read_record(file).keys() == {FAULTS[0].slug, FAULTS[1].slug}
    file.write_text(json.dumps({"half": 1})[:-2])
    assert read_record(file) == {}


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (_vllm(), []),
        (_vllm(below={7}), ["process 7 of an earlier generation"]),
        (_vllm(strays={4}), ["process 4 of no generation"]),
        (_vllm(trees={1, 5}), ["2 trees of vLLM"]),
        (_vllm(trees=set()), ["0 trees of vLLM"]),
        (_vllm(ranks=set()), ["0 ranks of vLLM"]),
    ],
)
def test_more_than_one_start_of_vllm_on_a_host_is_left_over(now: Running, words: list[str]) -> None:
    assert now.leftovers(old=frozenset({7, 8})) == words


def test_the_matrix_is_whole() -> None:
    assert len(FAULTS) >= 80
    parts = [fault.slug for index in range(len(LABS)) for fault in part(index, len(LABS))]
    assert sorted(parts) == sorted(fault.slug for fault in FAULTS)
