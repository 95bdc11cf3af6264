"""The weights gate with files from a Hub: both programs run for real, the Hub is a stand-in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tandem.errors import GateFailed
from tandem.gates.fetching import fetch_command
from tandem.gates.spec import HubSource, WeightsSpec
from tandem.gates.weights import fetch_and_verify
from tests.builders import weights_spec
from tests.hub import COMMIT, StandInHub, shard, stand_in_hub

if TYPE_CHECKING:
    from tests.unit.gates.docker import FakeDocker

MANIFEST = Path("stacks/manifests/model.json")
SHARD = "model.safetensors"
FILES = {"config.json": b"{}", SHARD: shard(a=5000)}
TOKEN = "hf_of_the_tests"
HERE = "127.0.0.1"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    """Return the Hub that the operator's environment names, with the token for it."""
    with stand_in_hub() as hub:
        hub.models["org/model"] = dict(FILES)
        hub.token = TOKEN
        monkeypatch.setenv("NO_PROXY", HERE)
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield hub


@pytest.fixture
def folders(docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Return the empty volume of each of two hosts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stacks").mkdir()
    for name in ("model-1", "model-2", "hashes-1", "hashes-2"):
        docker.volumes[name] = tmp_path / name
        docker.volumes[name].mkdir()
    return docker.volumes


def spec(endpoint: str | None = None) -> WeightsSpec:
    """Return what the gate is told when the files come from a Hub."""
    return replace(weights_spec(revision=COMMIT), hub=HubSource(endpoint))


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_every_host_has_the_files_and_the_manifest_is_the_hubs(
    hub: StandInHub, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    result = fetch_and_verify(spec())
    assert files(folders["model-1"]) == files(folders["model-2"]) == FILES
    sizes = {name: len(content) for name, content in FILES.items()}
    said = json.loads(MANIFEST.read_text())
    assert {name: entry["size"] for name, entry in said["files"].items()} == sizes
    assert said["revision"] == result["revision"] == COMMIT
    lines = capsys.readouterr().err.splitlines()
    assert f"{MANIFEST} is what the Hub has of org/model: commit it" in lines
    assert any(line.startswith("host-2: fetched 2 of 2 files, ") for line in lines)
    assert TOKEN not in "".join(lines)


def test_without_anything_to_fetch_the_hub_is_not_asked(
    hub: StandInHub, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fetch_and_verify(spec())
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert fetch_and_verify(spec()) == first


def test_a_declared_address_comes_before_that_of_the_environment(
    hub: StandInHub, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert fetch_and_verify(spec(hub.address))["files"] == 2


def test_only_what_a_host_lacks_or_has_wrong_is_fetched_to_it(
    hub: StandInHub, folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    fetch_and_verify(spec())
    hub.given.clear()
    (folders["model-2"] / SHARD).write_bytes(FILES[SHARD][:-1] + b"x")
    fetch_and_verify(spec())
    assert hub.given == {(HERE, SHARD): len(FILES[SHARD])}
    assert files(folders["model-2"]) == FILES
    hub.given.clear()
    capsys.readouterr()
    # A wrong size keeps the other from being hashed: it is found in the second round.
    (folders["model-1"] / "config.json").write_bytes(b"")
    (folders["model-1"] / SHARD).write_bytes(FILES[SHARD][:-1] + b"x")
    (folders["model-1"] / "extra.bin").write_bytes(b"x")
    fetch_and_verify(spec())
    assert hub.given == {(HERE, SHARD): len(FILES[SHARD]), (HERE, "config.json"): 2}
    assert files(folders["model-1"]) == FILES
    said = capsys.readouterr().err
    assert "host-1: config.json has 0 bytes, not 2\n" in said
    assert "host-2: config.json" not in said


def test_a_large_file_that_came_wrong_is_fetched_again_at_once(
    hub: StandInHub, folders: dict[str, Path]
) -> None:
    hub.spoiled[SHARD] = FILES[SHARD][:-1] + b"x"
    fetch_and_verify(spec())
    assert files(folders["model-1"]) == files(folders["model-2"]) == FILES
    assert hub.given == {(HERE, SHARD): 3 * len(FILES[SHARD]), (HERE, "config.json"): 2 * 2}


def test_a_model_that_no_host_may_read_is_told_for_each(
    hub: StandInHub, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(GateFailed) as failed:
        fetch_and_verify(spec())
    lines = str(failed.value).splitlines()
    assert [line.split()[0] for line in lines] == ["host-1", "host-2"]
    assert all("set the variable HF_TOKEN to a token that may read it" in line for line in lines)
    assert not MANIFEST.exists()


def test_a_manifest_that_is_not_the_hubs_is_told_and_stays(
    hub: StandInHub, folders: dict[str, Path]
) -> None:
    fetch_and_verify(spec())
    said = json.loads(MANIFEST.read_text())
    said["files"][SHARD]["sha256"] = "0" * 64
    MANIFEST.write_text(json.dumps(said))
    with pytest.raises(GateFailed, match="is not what the Hub has of org/model at cccc"):
        fetch_and_verify(spec())
    assert json.loads(MANIFEST.read_text()) == said


def test_hosts_that_are_told_different_things_are_named(
    hub: StandInHub, folders: dict[str, Path]
) -> None:
    listings = [hub.listing("org/model"), hub.listing("org/model")]
    del listings[1]["siblings"][1]
    hub.listing = lambda model: listings.pop()  # type: ignore[method-assign]
    with pytest.raises(GateFailed, match="the Hub says one thing to host-1 and another to host-2"):
        fetch_and_verify(spec())


def test_the_container_writes_to_the_volume_and_its_command_has_no_token(hub: StandInHub) -> None:
    command = fetch_command(spec().folders[0], "vllm:1")
    assert command.startswith("docker volume inspect model-1 >/dev/null && exec docker run --rm ")
    for word in ("--interactive", "--pull=never", "--log-driver=none", "--volume=model-1:/model"):
        assert f" {word} " in command
    assert TOKEN not in command
