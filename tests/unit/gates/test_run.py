"""What a gate reads and how it ends."""

import io
import signal
from collections.abc import Iterator

import pytest

from tandem.errors import GateFailed
from tandem.gates.run import run_gate
from tandem.gates.spec import JoinSpec, KeepSpec, ReadySpec, ReleaseSpec, WeightsSpec
from tests.builders import join_spec, plan, ready_spec, weights_spec


@pytest.fixture(autouse=True)
def keep_signals() -> Iterator[None]:
    stops = (signal.SIGTERM, signal.SIGINT)
    before = [signal.getsignal(stop) for stop in stops]
    yield
    for stop, handler in zip(stops, before, strict=True):
        signal.signal(stop, handler)


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


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_gate_that_is_stopped_leaves_without_a_traceback(
    stop: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(SystemExit) as ended:
        run_gate(lambda text: signal.raise_signal(stop))
    assert ended.value.code == 128 + stop
