"""What a gate reads and how it ends."""

import io
import os
import subprocess
import sys

import pytest

from tandem.errors import GateFailed
from tandem.gates.containers import LONGEST_LINE
from tandem.gates.run import answer
from tandem.gates.spec import JoinSpec, KeepSpec, ReadySpec, ReleaseSpec, WeightsSpec
from tests.builders import join_spec, plan, ready_spec, weights_spec


def said(work: str, **environment: str) -> tuple[bytes, bytes]:
    """Return what a gate whose work is an expression of ``text`` writes to its two streams."""
    program = f"""
from tandem.errors import GateFailed
from tandem.gates.containers import say
from tandem.gates.run import run_gate
def fail(words):
    raise GateFailed(words)
run_gate(lambda text: {work})
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=b"spec",
        env=os.environ | environment,
        capture_output=True,
        timeout=30,
        check=False,
    )
    return done.stdout, done.stderr


def test_a_spec_is_the_same_after_its_way_through_standard_input() -> None:
    assert JoinSpec.from_json(join_spec(3).to_json()) == join_spec(3)
    assert ReadySpec.from_json(ready_spec().to_json()) == ready_spec()
    assert WeightsSpec.from_json(weights_spec().to_json()) == weights_spec()
    for host in plan(2).hosts:
        assert ReleaseSpec.from_json(host.release.to_json()) == host.release
        for spec in host.kept.values():
            assert KeepSpec.from_json(spec.to_json()) == spec


def test_the_result_is_json_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("spec"))
    assert answer(lambda text: {"b": 1, "a": text}) == 0
    assert capsys.readouterr().out == '{"a": "spec", "b": 1}\n'


def test_a_failure_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(text: str) -> object:
        raise GateFailed("host-2 does not answer")

    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert answer(fail) == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "error: host-2 does not answer\n")


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "de_DE.ISO-8859-1"])
@pytest.mark.parametrize("work", ["say(words)", "fail(words)"])
def test_whatever_the_locale_a_gate_prints_utf_8(locale: str, work: str) -> None:
    words = "'größer … \\udc80'"
    _, told = said(work.replace("words", words), LC_ALL=locale, PYTHONIOENCODING="latin-1")
    assert told.decode() == ("error: " if "fail" in work else "") + "größer … \\udc80\n"


@pytest.mark.parametrize("work", ["say(words)", "fail(words)"])
def test_a_line_that_is_too_long_for_pulumi_is_cut_and_says_so(work: str) -> None:
    words = "'first\\n' + '\\U0001f600' * 70000 + '\\nlast'"
    _, told = said(work.replace("words", words))
    first, long, last = told.decode().splitlines()
    assert (first.removeprefix("error: "), last) == ("first", "last")
    assert long == "\U0001f600" * LONGEST_LINE + " … (cut: 70000 characters)"
    assert len(long.encode()) < 65536


def test_what_a_gate_returns_goes_to_standard_output() -> None:
    assert said("{'text': text, 'é': 1}") == (b'{"text": "spec", "\\u00e9": 1}\n', b"")
