"""What the weights gate compares."""

from __future__ import annotations

import pytest

from tandem.errors import InvalidStack
from tandem.gates.spec import HubSource, WeightsSpec
from tandem.planner.verification import manifest_name
from tests.builders import DIGEST, plan, settings

REVISION = "0123456789abcdef" * 2 + "01234567"


def test_every_hosts_folder_is_compared_with_one_manifest() -> None:
    made = plan(2, {"model.revision": REVISION})
    spec = made.weights
    assert [folder.host for folder in spec.folders] == ["host-1", "host-2"]
    for folder, host in zip(spec.folders, made.hosts, strict=True):
        assert folder.volume == host.model_volume.name
        assert folder.device == host.model_volume.device
        assert folder.hashes == host.hashes_volume.name
    assert spec.image.endswith(f"@{DIGEST}")
    assert (spec.model, spec.revision) == ("org/model", REVISION)


def test_files_from_the_hub_come_to_a_volume_of_each_host_that_stays() -> None:
    source = {"hub": True, "endpoint": "https://hub.example"}
    made = plan(2, {"model.source": source, "model.revision": REVISION})
    assert made.weights.hub == HubSource("https://hub.example")
    assert [folder.device for folder in made.weights.folders] == [None, None]
    volumes = [host.model_volume for host in made.hosts]
    # Not the name of a volume that is bound to a folder, which this one would be taken for.
    assert [volume.name for volume in volumes] == [
        "tandem-test-host-1-hub",
        "tandem-test-host-2-hub",
    ]
    assert all(volume.is_kept and volume.device is None for volume in volumes)
    changes = {"model.source": source, "model.revision": REVISION, "model.deleteOnDestroy": True}
    assert not any(host.model_volume.is_kept for host in plan(2, changes).hosts)
    assert WeightsSpec.from_json(made.weights.to_json()) == made.weights


@pytest.mark.parametrize(
    ("model", "revision", "name"),
    [
        ("Qwen/Qwen3.5-122B-A10B-FP8", None, "Qwen--Qwen3.5-122B-A10B-FP8.json"),
        ("org/model", REVISION, "org--model@0123456789ab.json"),
        ("../a model", None, "..--a--model.json"),
    ],
)
def test_a_manifest_is_named_after_model_and_revision(
    model: str, revision: str | None, name: str
) -> None:
    assert manifest_name(model, revision) == name


def test_another_revision_replaces_every_container() -> None:
    first, other = (plan(2, {"model.revision": digit * 40}) for digit in "12")
    assert first.containers[0].fingerprint != other.containers[0].fingerprint
    assert first.server != other.server


def test_a_serving_flag_does_not_compare_anew() -> None:
    assert plan(2, {"serve.maxModelLen": 512}).weights == plan(2).weights


@pytest.mark.parametrize("revision", ["main", "v1.0", "0123456", "A" * 40])
def test_a_revision_is_a_commit(revision: str) -> None:
    with pytest.raises(InvalidStack, match="write the commit, 40 hex digits"):
        settings(1, {"model.revision": revision})
