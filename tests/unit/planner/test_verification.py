"""What the weights gate compares."""

from __future__ import annotations

import pytest

from tandem.errors import InvalidStack
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
    assert first.ray is not None and other.ray is not None
    assert first.ray.fingerprint != other.ray.fingerprint
    assert first.server != other.server


def test_a_serving_flag_does_not_compare_anew() -> None:
    assert plan(2, {"serve.maxModelLen": 512}).weights == plan(2).weights


@pytest.mark.parametrize("revision", ["main", "v1.0", "0123456", "A" * 40])
def test_a_revision_is_a_commit(revision: str) -> None:
    with pytest.raises(InvalidStack, match="write the commit, 40 hex digits"):
        settings(1, {"model.revision": revision})
