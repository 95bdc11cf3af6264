"""``python -m tandem status``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tandem.cli import status
from tandem.cli.columns import WIDTH
from tandem.cli.main import main
from tandem.cli.status_table import spoken
from tandem.survey.machine import MemoryFacts
from tandem.survey.status import ContainerStatus, HostStatus, Sample, ServerStatus
from tandem.units import GIB, MIB
from tests.builders import config

Look = Callable[[float], list[HostStatus]]


@pytest.fixture
def stack_file(tmp_path: Path) -> str:
    """Write a stack file with one host; Pulumi reads JSON as YAML, too."""
    path = tmp_path / "Pulumi.one.yaml"
    path.write_text(
        json.dumps({"config": {f"tandem:{key}": value for key, value in config().items()}})
    )
    return str(path)


def host(tokens: float = 1000, at: float = 1, **changes: Any) -> HostStatus:
    """Return a host with a server that runs."""
    running = {
        "name": "tandem-one-host-1-server",
        "role": "server",
        "state": "running",
        "seconds": 7500,
        "restarts": 1,
        "image": "sha256:" + "b" * 64,
        "memory": 700 * MIB,
    }
    first = Sample(at=at, generation_tokens=tokens)
    last = Sample(at=at + 1, running=3, waiting=0, kv_cache=0.125, generation_tokens=tokens + 50)
    return HostStatus(
        name="host-1",
        memory=MemoryFacts(total=64 * GIB, available=48 * GIB),
        containers=(ContainerStatus.model_validate({**running, **changes}),),
        server=ServerStatus(samples=(first, last)),
    )


def see(monkeypatch: pytest.MonkeyPatch, *looks: HostStatus) -> list[float]:
    """Let looks find these in turn, and Ctrl-C end what goes on; return the pauses asked for."""
    apart: list[float] = []
    rest = list(looks)

    def look(settings: object, stack: str, server: str, url: str, pause: float) -> tuple[Any, ...]:
        assert (server, url) == ("tandem-one-host-1-server", "http://10.0.0.1:8000")
        if not rest:
            raise KeyboardInterrupt
        apart.append(pause)
        return (rest.pop(0),)

    monkeypatch.setattr(status, "look_at_status", look)
    monkeypatch.setattr(status, "EVERY_SECONDS", 0)
    return apart


def test_all_is_well_and_ends_with_0(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert see(monkeypatch, host()) == []
    assert main(["status", stack_file]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "one: 1 of 1 as they should be, the server answers",
        "",
        "host    role    rank  state    up     restarts  image         memory   free on host",
        "host-1  server  0     running  2h 5m  1         bbbbbbbbbbbb  700 MiB  48.0 of 64.0 GiB",
        "",
        "server    http://10.0.0.1:8000 answers",
        "requests  3 running, 0 waiting",
        "KV cache  12.5% in use",
        "tokens/s  - prompt, 50.0 generation",
    ]


def test_what_is_wrong_stands_below_and_ends_with_7(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = "word " * 60
    see(monkeypatch, host(state="exited", exit_code=0, last_line=line))
    assert main(["status", stack_file]) == 7
    text = capsys.readouterr().out
    assert "host-1 server: gave up: word word" in text
    assert "does not answer: its container does not run (gave up)" in text
    assert max(map(len, text.splitlines())) <= WIDTH


def test_a_host_that_does_not_answer_ends_with_1(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, HostStatus(name="host-1", problem="Connection refused"))
    assert main(["status", stack_file]) == 1
    assert "host-1: no answer: Connection refused" in capsys.readouterr().out


def test_json_has_the_same_facts(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, host())
    assert main(["status", stack_file, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rows"][0]["memory"] == 700 * MIB
    assert said["load"]["generation_rate"] == 50


def test_watching_takes_the_rate_from_look_to_look_and_ends_without_a_traceback(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    second = host(tokens=2000, at=4)
    one = second.model_copy(
        update={"server": ServerStatus(samples=(Sample(at=4, generation_tokens=1650),))}
    )
    apart = see(monkeypatch, host(), one)
    assert main(["status", stack_file, "--watch"]) == 0
    assert apart == [1, 0]
    text = capsys.readouterr().out
    assert "50.0 generation" in text and "300.0 generation" in text
    assert "\033" not in text


def test_a_terminal_is_cleared_before_each_look(
    stack_file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    see(monkeypatch, host())
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    main(["status", stack_file, "--watch"])
    assert capsys.readouterr().out.startswith("\033[H\033[2Jone: ")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0s"),
        (59, "59s"),
        (61, "1m 1s"),
        (119, "1m 59s"),
        (120, "2m 0s"),
        (3599, "59m 59s"),
        (3600, "1h 0m"),
        (7199, "1h 59m"),
        (7200, "2h 0m"),
        (86_399, "23h 59m"),
        (172_799, "1d 23h"),
        (172_800, "2d 0h"),
        (200_000, "2d 7h"),
    ],
)
def test_a_duration_is_in_its_two_largest_units(seconds: int, words: str) -> None:
    assert spoken(seconds) == words
