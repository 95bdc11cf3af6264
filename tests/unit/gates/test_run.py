"""What a gate reads and how it ends."""

import io
import signal
from collections.abc import Iterator

import pytest

from tandem.errors import GateFailed
from tandem.gates.run import run_gate
from tandem.gates.spec import JoinSpec, ReadySpec, WeightsSpec
from tests.builders import join_spec, ready_spec, weights_spec


@pytest.fixture(autouse=True)
def keep_signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_spec_is_the_same_after_its_way_through_standard_input() -> None:
    assert JoinSpec.from_json(join_spec(3).to_json()) == join_spec(3)
    assert ReadySpec.from_json(ready_spec().to_json()) == ready_spec()
    assert WeightsSpec.from_json(weights_spec().to_json()) == weights_spec()


def test_the_result_is_json_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("spec"))
    assert run_gate(lambda text: {"b": 1, "a": text}) == 0
    assert capsys.readouterr().out == '{"a": "spec", "b": 1}\n'


def test_a_failure_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(text: str) -> object:
        raise GateFailed("host-2 does not answer")

    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run_gate(fail) == 1
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "error: host-2 does not answer\n")
