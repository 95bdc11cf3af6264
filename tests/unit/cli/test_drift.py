"""`python -m tandem drift`, with a stand-in of Pulumi's engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tandem.cli import drift
from tandem.cli.main import main
from tandem.errors import GateFailed, WeightsDiffer
from tandem.survey.docker import ContainerFacts
from tandem.survey.facts import Facts
from tests.builders import changed, facts, settings

STAND_IN = """#!/bin/sh
case "$*" in
*"stack output"*) printf '%s' '{outputs}' ;;
*refresh*) printf '%s\\n' '{steps}'; exit {status} ;;
esac
"""


class Engine:
    """A stand-in of `pulumi` on PATH."""

    def __init__(self, folder: Path) -> None:
        self._program = folder / "pulumi"
        self.says([])

    def says(
        self,
        steps: list[dict[str, Any]],
        *,
        outputs: str = "{}",
        status: int = 0,
        diagnostics: list[dict[str, str]] | None = None,
    ) -> None:
        """Set what a refresh finds, the outputs, and the refresh's exit status and diagnostics."""
        said = json.dumps({"steps": steps, "diagnostics": diagnostics or []}, indent=2)
        self._program.write_text(STAND_IN.format(outputs=outputs, steps=said, status=status))
        self._program.chmod(0o755)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Return an engine that finds nothing, for a stack `one` whose host is healthy."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stacks").mkdir()
    config = {f"tandem:{key}": value for key, value in changed(1, {}).items()}
    (tmp_path / "stacks" / "Pulumi.one.yaml").write_text(yaml.safe_dump({"config": config}))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    see(monkeypatch, facts(settings()))
    return Engine(tmp_path / "bin")


@pytest.fixture
def manifest(engine: Engine) -> None:
    """Have the manifest that an `up` makes."""
    path = Path("stacks/manifests/org--model.json")
    path.parent.mkdir()
    path.touch()


def see(monkeypatch: pytest.MonkeyPatch, seen: Facts) -> None:
    monkeypatch.setattr(drift, "look_at_hosts", lambda settings, stack: seen)


def step(op: str, name: str, **more: Any) -> dict[str, Any]:
    return {"op": op, "urn": f"urn:pulumi:one::tandem::t::{name}", **more}


def test_no_drift_is_said_and_ends_with_0(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.says([step("refresh", "one-ready")])
    assert main(["drift", "one"]) == 0
    assert capsys.readouterr().out == "one: no drift\n"


def test_what_a_refresh_would_change_is_a_row_and_ends_with_7(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    states = {"oldState": {"outputs": {"shmSize": 64}}, "newState": {"outputs": {"shmSize": 128}}}
    found = [
        step("update", "one-host-1-server", diffReasons=["shmSize"], **states),
        step("delete", "one-host-1-model"),
    ]
    engine.says(found, status=7)
    assert main(["drift", "one"]) == 7
    assert capsys.readouterr().out.splitlines() == [
        "one: 2 changed",
        "",
        "what                       declared  found  since",
        "one-host-1-server shmSize  64        128    -",
        "one-host-1-model           there     gone   -",
    ]


def test_a_host_that_changed_since_the_up_is_a_row(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.says([], outputs='{"found": {"host-1": {"interface": "eth9"}}}')
    assert main(["drift", "one", "--json"]) == 7
    assert json.loads(capsys.readouterr().out) == [
        {"what": "host-1: interface", "declared": "eth9", "found": "eth0", "since": None}
    ]


def test_a_container_that_ended_is_a_row_with_its_time_to_the_second(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = {
        "id": "1",
        "name": "tandem-one-host-1-server",
        "stack": "test",
        "state": "exited",
        "since": "2026-11-30T09:14:05.123456789Z",
    }
    see(monkeypatch, facts(settings(), {"containers": (ContainerFacts.model_validate(ended),)}))
    assert main(["drift", "one"]) == 7
    assert capsys.readouterr().out.splitlines() == [
        "one: 1 changed",
        "",
        "what                              declared  found   since",
        "host-1: tandem-one-host-1-server  running   exited  2026-11-30 09:14:05",
    ]


def test_a_file_that_is_not_the_manifests_is_a_row(
    engine: Engine,
    manifest: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def verify(wanted: object) -> None:
        line = "host-1: a.safetensors has 9 bytes, not 10; copy it from host-2"
        raise WeightsDiffer(f"not every host has the files\n{line}", [line])

    monkeypatch.setattr(drift, "verify", verify)
    assert main(["drift", "one"]) == 7
    assert capsys.readouterr().out.splitlines()[-1].split("  ") == [
        "host-1: weights",
        "as in the manifest",
        "a.safetensors has 9 bytes, not 10",
        "-",
    ]


def test_files_that_can_not_be_compared_do_not_hide_what_changed(
    engine: Engine,
    manifest: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def verify(wanted: object) -> None:
        raise GateFailed("host-1 can't hash the model's files: no such image")

    monkeypatch.setattr(drift, "verify", verify)
    assert main(["drift", "one"]) == 1
    engine.says([step("delete", "one-host-1-image")])
    assert main(["drift", "one"]) == 7
    said = capsys.readouterr()
    assert "one-host-1-image" in said.out
    assert said.err.endswith(
        "can't be compared: host-1 can't hash the model's files: no such image\n"
    )


def test_an_engine_that_could_not_look_is_neither(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.says([], status=255)
    assert main(["drift", "one"]) == 1
    assert capsys.readouterr().err == "pulumi ended with status 255\n"


def test_the_words_of_an_engine_that_could_not_look_are_told(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"urn": "u", "message": 'Is the "docker" daemon running?\n', "severity": "error"}
    engine.says([], status=255, diagnostics=[said])
    assert main(["drift", "one"]) == 1
    assert capsys.readouterr().err == 'Is the "docker" daemon running?\n'


def test_a_host_that_does_not_answer_is_neither(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, facts(settings(), {"problem": "Connection timed out"}))
    assert main(["drift", "one"]) == 1
    assert capsys.readouterr().err == "host-1 does not answer: Connection timed out\n"


def test_with_a_retired_host_nothing_is_asked(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = {f"tandem:{key}": value for key, value in changed(2, {"hosts.1.retired": True}).items()}
    (tmp_path / "stacks" / "Pulumi.one.yaml").write_text(yaml.safe_dump({"config": data}))
    assert main(["drift", "one"]) == 1
    assert capsys.readouterr().err == "host-2: retired, so what is there can't be compared\n"


def test_without_pulumi_it_is_said_how_to_have_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["drift", "one"]) == 1
    assert "no pulumi on PATH" in capsys.readouterr().err
