"""The whole way: ssh, the probe in a real shell, facts. The shell is this machine's own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tandem.settings import ModelSettings
from tandem.survey import look_at_hosts, survey
from tandem.survey.facts import HostFacts, HubFacts, ModelFacts
from tandem.units import MIB
from tests.builders import settings
from tests.shell import host_here, program

# What every Linux has; ip, ss, docker, nvidia-smi and bash are not among them.
TOOLS = (
    *("sh", "cat", "cut", "date", "df", "du", "grep", "head", "mkdir", "od", "rm", "sed", "sleep"),
    *("sort", "stat", "tail", "timeout", "tr", "uname"),
)
COMMIT = "c" * 40
FROM_HUB = settings(1, {"model.source": {"hub": True}, "model.revision": COMMIT})


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let `ssh` run its command here, with few tools on PATH; return the folder of the tools."""
    return host_here(tmp_path, monkeypatch, TOOLS)


def seen(model: Path) -> HostFacts:
    """Return what a look at a single host finds."""
    declared = settings(1, {"model.source.path": str(model)})
    (host,) = look_at_hosts(declared, "test").hosts
    return host


def safetensors(path: Path, tensors: int) -> None:
    """Write a file of the format, with so many bytes of tensors."""
    header = json.dumps({"w": {"dtype": "U8", "shape": [tensors], "data_offsets": [0, tensors]}})
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(tensors))


def test_a_retired_host_is_not_asked(machine: Path) -> None:
    declared = settings(2, {"hosts.1.retired": True})
    program(machine / "ssh", 'case "$*" in *ops@host-2*) touch "$HOME/asked" ;; esac; exit 255')
    first, second = look_at_hosts(declared, "test").hosts
    assert (first.skipped, second.skipped) == (False, True)
    assert (second.problem, second.is_usable) == (None, False)
    assert not (machine.parent / "asked").exists()


def test_weights_are_counted_to_the_byte_without_being_read(machine: Path, tmp_path: Path) -> None:
    model = tmp_path / "my model"
    model.mkdir()
    (model / "config.json").write_text('{"hidden_size": 64}\n@@docker\n')
    safetensors(model / "model-1.safetensors", 1000)
    safetensors(model / "model-2.safetensors", 3 * MIB)
    safetensors(model / "consolidated.safetensors", 5000)
    names = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (model / "model.safetensors.index.json").write_text(json.dumps(names, indent=2))
    found = seen(model)
    assert found.model.weights_bytes == 1000 + 3 * MIB
    assert (found.model.has_config, found.model.config) == (True, None)
    (model / "config.json").write_text('{"hidden_size": 64}')
    assert look_at_hosts(settings(1, {"model.source.path": str(model)}), "test").model is not None


@pytest.fixture
def hub_asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the Hub know of a model, and return what it is asked."""
    asked: list[str] = []

    def hub_facts(model: ModelSettings) -> HubFacts:
        asked.append("facts")
        return HubFacts(endpoint="https://hub.example", commit=COMMIT, files_bytes=7)

    def hub_model(model: str, revision: str | None, endpoint: str | None) -> ModelFacts:
        asked.append("model")
        return ModelFacts(config={"hidden_size": 64})

    monkeypatch.setattr("tandem.survey.look.hub_facts", hub_facts)
    monkeypatch.setattr("tandem.survey.look.hub_model", hub_model)
    return asked


@pytest.mark.usefixtures("machine")
def test_before_the_first_up_the_hub_tells_of_the_model(hub_asked: list[str]) -> None:
    found = look_at_hosts(FROM_HUB, "test")
    assert found.hosts[0].fetched_bytes == 0
    assert found.hub is not None and found.hub.files_bytes == 7
    assert found.model is not None and found.model.config == {"hidden_size": 64}
    assert hub_asked == ["facts", "model"]


def test_what_is_in_the_volume_is_seen_and_the_hub_is_not_asked(
    machine: Path, tmp_path: Path, hub_asked: list[str]
) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "config.json").write_text('{"hidden_size": 32}')
    safetensors(volume / "model.safetensors", 3 * MIB)
    name = "tandem-test-host-1-hub"
    program(machine / "docker", f'[ "$1" = volume ] || exit 1\n[ "$5" = {name} ] && echo {volume}')
    found = look_at_hosts(FROM_HUB, "test")
    assert 3 * MIB < (found.hosts[0].fetched_bytes or 0) < 4 * MIB
    assert found.model is not None and found.model.config == {"hidden_size": 32}
    assert found.model.weights_bytes == 3 * MIB
    assert (found.hub, hub_asked) == (None, [])


def test_a_volume_that_only_root_may_look_into_is_there_with_a_size_not_known(
    machine: Path, tmp_path: Path, hub_asked: list[str]
) -> None:
    program(machine / "docker", f'[ "$1" = volume ] || exit 1\necho {tmp_path}/closed')
    assert look_at_hosts(FROM_HUB, "test").hosts[0].fetched_bytes is None
    assert hub_asked == ["facts", "model"]


def test_a_host_with_few_tools_is_still_seen(machine: Path, tmp_path: Path) -> None:
    found = seen(tmp_path / "nothing")
    assert found.problem is None
    assert found.system.kernel == os.uname().release
    assert found.memory is not None and 0 < found.memory.available <= found.memory.total
    assert found.clock is not None and found.clock.least < 1
    assert not found.model.has_config
    assert found.model_disk is None


def test_a_host_that_stops_answering_says_where(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.safetensors").touch()
    (machine / "stat").unlink()
    program(machine / "stat", "exec sleep 5")
    monkeypatch.setattr("tandem.survey.look.TIMEOUT_SECONDS", 2)
    assert seen(tmp_path).problem == "no answer within 2 s, while looking at: weights"


def test_a_host_that_ssh_can_not_reach_has_its_words(machine: Path, tmp_path: Path) -> None:
    program(
        machine / "ssh", "echo 'ssh: connect to host a port 22: No route to host' >&2\nexit 255"
    )
    assert seen(tmp_path).problem == "ssh: connect to host a port 22: No route to host"


def test_without_a_survey_nobody_connects(machine: Path) -> None:
    program(machine / "ssh", "echo looked >&2\nexit 255")
    assert survey(settings(2, {"survey": "off"}), "test").hosts == ()
