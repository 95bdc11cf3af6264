"""A model on a Hub, seen from the operator's machine; the Hub is a stand-in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from tandem.errors import HubFailed
from tandem.survey.facts import HubFacts
from tandem.survey.hub import hub_facts, hub_model
from tests.builders import settings
from tests.hub import COMMIT, StandInHub, shard, stand_in_hub

WHOLE = {"config.json": b'{"hidden_size": 64}', "model.safetensors": shard(a=30, b=12)}
SHARDS = {
    "config.json": b"{}",
    "model.safetensors.index.json": json.dumps(
        {"metadata": {}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    ).encode(),
    "one.safetensors": shard(a=1000),
    "two.safetensors": shard(b=24),
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    """Return a Hub that is reached whatever the environment says of proxies and offline mode."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with stand_in_hub() as hub:
        yield hub


@pytest.mark.parametrize(("files", "size"), [(WHOLE, 42), (SHARDS, 1024)], ids=["one", "shards"])
def test_config_and_bytes_of_all_tensors_are_read(
    hub: StandInHub, files: dict[str, bytes], size: int
) -> None:
    hub.models["org/model"] = files
    found = hub_model("org/model", COMMIT, hub.address)
    assert found.weights_bytes == size
    assert found.config == json.loads(files["config.json"])


@pytest.mark.parametrize("files", [None, {"config.json": b"{}"}], ids=["no model", "no weights"])
def test_what_the_hub_does_not_have_is_told_in_one_line(
    hub: StandInHub, files: dict[str, bytes] | None
) -> None:
    if files is not None:
        hub.models["org/model"] = files
    with pytest.raises(HubFailed) as failed:
        hub_model("org/model", COMMIT, hub.address)
    assert str(failed.value).startswith(f"{hub.address} does not tell of org/model: ")
    assert len(str(failed.value).splitlines()) == 1


def looked(endpoint: str, revision: str = "main") -> HubFacts | None:
    """Return what a look at the Hub finds of the declared model."""
    source = {"hub": True, "endpoint": endpoint}
    return hub_facts(settings(1, {"model.source": source, "model.revision": revision}).model)


def test_a_name_is_resolved_and_the_files_to_fetch_are_counted(hub: StandInHub) -> None:
    hub.models["org/model"] = WHOLE | {"original/consolidated.00.pth": bytes(5000)}
    found = looked(hub.address)
    size = len(WHOLE["config.json"]) + len(WHOLE["model.safetensors"])
    assert found == HubFacts(endpoint=hub.address, commit=COMMIT, files_bytes=size)


def test_a_hub_that_refuses_is_told_from_one_that_does_not_answer(hub: StandInHub) -> None:
    refused = looked(hub.address)
    assert refused is not None and refused.commit is None
    assert refused.refusal == f"{hub.address} does not let org/model be read, if it has it"
    hub.models["org/model"] = WHOLE
    refused = looked(hub.address, "v2")
    assert refused is not None and refused.refusal == f"{hub.address} has no org/model at v2"
    assert looked("http://127.0.0.1:9") is None
