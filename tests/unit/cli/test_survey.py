"""``python -m tandem survey``."""

import json
from pathlib import Path
from typing import Any

import pytest

from tandem.cli.main import main
from tandem.survey.docker import DockerFacts
from tandem.survey.facts import Facts, HostFacts
from tandem.survey.parse import host_facts
from tests.builders import config, facts, load, settings

RECORDED = Path(__file__).parents[1] / "survey" / "hosts"


@pytest.fixture
def stack_file(tmp_path: Path) -> Path:
    """Write a stack file with two hosts; Pulumi reads JSON as YAML, too."""
    path = tmp_path / "Pulumi.prod.yaml"
    path.write_text(
        json.dumps({"config": {f"tandem:{key}": value for key, value in config(2).items()}})
    )
    return path


def recorded(host: str, name: str) -> HostFacts:
    """Return the facts of a recorded host under another name."""
    docker = json.loads((RECORDED / f"{name}.json").read_text())
    return host_facts(host, "prod", docker, (RECORDED / f"{name}.txt").read_text())


def seen(monkeypatch: pytest.MonkeyPatch, found: Facts) -> None:
    """Let the look at the hosts find this."""
    monkeypatch.setattr("tandem.cli.survey.look_at_hosts", lambda _settings, _stack: found)


def test_healthy_hosts_end_with_0(
    stack_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen(monkeypatch, facts(load(config(2))))
    assert main(["survey", str(stack_file)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("test: 2 hosts, no errors, no warnings\n")
    assert "host-2  10.0.0.2  eth1       UP     9000  200     -     -    1 of 1" in text


def test_an_error_ends_with_3_and_is_told(
    stack_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen(monkeypatch, facts(settings(2), last={"problem": "no answer within 30 s"}))
    assert main(["survey", str(stack_file)]) == 3
    text = capsys.readouterr().out
    assert text.startswith("test: 2 hosts, 1 error, no warnings\n")
    assert "error: tandem:hosts[1].ssh: no connection to ops@host-2" in text


def test_an_invalid_file_ends_with_2(stack_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack_file.write_text(stack_file.read_text().replace("tandem:hosts", "tandem:host"))
    assert main(["survey", str(stack_file)]) == 2
    assert "[unknown-key]" in capsys.readouterr().err
    assert main(["survey", "nowhere"]) == 2
    assert "[no-stack-file]" in capsys.readouterr().err


def test_json_has_the_facts_and_the_findings(
    stack_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = {"docker": DockerFacts(problem="permission denied")}
    seen(monkeypatch, facts(settings(2), broken))
    assert main(["survey", "--json", str(stack_file)]) == 3
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [finding["code"] for finding in said.pop("findings")] == ["docker-not-usable"]
    assert Facts.model_validate_json(json.dumps(said)).hosts[0].docker == broken["docker"]


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("*.txt")))
def test_every_recorded_host_fits_into_100_columns(
    name: str,
    stack_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hosts = (recorded("host-1", name), recorded("host-2", name))
    seen(monkeypatch, Facts(stack="prod", hosts=hosts))
    main(["survey", str(stack_file)])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 100
    assert "host-2" in text


def test_a_spark_shows_what_matters(
    stack_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spark = recorded("host-1", "dgx-spark")
    seen(monkeypatch, Facts(stack="prod", hosts=(spark, HostFacts(name="host-2", problem="off"))))
    main(["survey", str(stack_file)])
    text = capsys.readouterr().out
    assert "NVIDIA GB10  580.95.05  the host's   VLLM::EngineCore (4242), python3 (5151)" in text
    assert "tandem-prod-spark-1-server  running  2" in text
    assert "14.0 GiB" in text
