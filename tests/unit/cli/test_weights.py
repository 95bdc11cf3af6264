"""`python -m tandem weights`, as a user types it; the gate itself has its own tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from tandem.cli import weights
from tandem.cli.main import main
from tandem.errors import GateFailed, WeightsDiffer
from tandem.gates.spec import HubSource
from tests.builders import DIGEST, changed, config

if TYPE_CHECKING:
    from tandem.gates.spec import WeightsSpec
    from tandem.ssh import SshTarget

MANIFEST = Path("stacks/manifests/org--model.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter a project's folder with the stack file of two hosts and a manifest."""
    monkeypatch.chdir(tmp_path)
    MANIFEST.parent.mkdir(parents=True)
    MANIFEST.touch()
    keys = {f"tandem:{key}": value for key, value in config(2).items()}
    Path("stacks/Pulumi.pair.yaml").write_text(yaml.safe_dump({"config": keys}))


def answer(monkeypatch: pytest.MonkeyPatch, problem: Exception | None = None) -> list[object]:
    """Have the gate answer, and return what it is asked."""
    asked: list[object] = []

    def verify(spec: WeightsSpec, *, anew: bool, record: bool) -> dict[str, object]:
        asked.extend([spec, anew, record])
        if problem:
            raise problem
        return {"files": 3}

    monkeypatch.setattr(weights, "verify", verify)
    return asked


def test_where_all_is_well_the_hosts_and_the_manifest_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = answer(monkeypatch)
    assert main(["weights", "pair", "--anew"]) == 0
    assert capsys.readouterr().out == f"host-1, host-2: the files are those of {MANIFEST}\n"
    spec, anew, record = asked
    assert (anew, record) == (True, False)
    assert getattr(spec, "image", "").endswith(f"@{DIGEST}")


def test_a_retired_host_is_not_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch)
    keys = {f"tandem:{key}": value for key, value in changed(2, {"hosts.1.retired": True}).items()}
    Path("stacks/Pulumi.pair.yaml").write_text(yaml.safe_dump({"config": keys}))
    assert main(["weights", "pair"]) == 0
    assert capsys.readouterr().out == f"host-1: the files are those of {MANIFEST}\n"


def test_the_manifest_is_shown_in_short_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(monkeypatch)
    assert main(["weights", "pair", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"files": 3}


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (WeightsDiffer("host-2: model.safetensors has 1 bytes, not 2"), 7),
        (GateFailed("host host-2 does not answer: timed out"), 1),
    ],
)
def test_other_files_and_a_comparison_that_failed_end_otherwise(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    problem: Exception,
    status: int,
) -> None:
    answer(monkeypatch, problem)
    assert main(["weights", "pair"]) == status
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{problem}\n")


def test_without_a_manifest_none_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = answer(monkeypatch)
    MANIFEST.unlink()
    assert main(["weights", "pair"]) == 1
    assert capsys.readouterr().err == f"there is no {MANIFEST}: `pulumi up` makes it, once\n"
    assert asked == []
    assert not MANIFEST.exists()


def test_a_manifest_is_made_anew_when_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch)
    MANIFEST.unlink()
    assert main(["weights", "pair", "--record"]) == 0
    assert asked[1:] == [False, True]


def test_what_is_wrong_is_fetched_again_when_the_user_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[object] = []

    def fetch_and_verify(spec: WeightsSpec, *, anew: bool) -> dict[str, object]:
        asked.extend([spec.hub, anew])
        return {"files": 3}

    monkeypatch.setattr(weights, "fetch_and_verify", fetch_and_verify)
    assert main(["weights", "pair", "--fetch"]) == 1
    assert capsys.readouterr().err.startswith("--fetch is for model.source.hub; copy the files ")
    model = {"model.source": {"hub": True}, "model.revision": "c" * 40}
    keys = {f"tandem:{key}": value for key, value in changed(2, model).items()}
    Path("stacks/Pulumi.pair.yaml").write_text(yaml.safe_dump({"config": keys}))
    MANIFEST.with_name("org--model@cccccccccccc.json").touch()
    assert main(["weights", "pair", "--fetch", "--anew"]) == 0
    assert asked == [HubSource(None), True]


def test_what_a_tag_stands_for_is_asked_of_one_host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch)
    path = Path("stacks/Pulumi.pair.yaml")
    path.write_text(path.read_text().replace(f"@{DIGEST}", ""))
    hosts = []

    def tag_digest(target: SshTarget, _: object) -> str:
        hosts.append(target.destination)
        return DIGEST

    monkeypatch.setattr(weights, "tag_digest", tag_digest)
    assert main(["weights", "pair"]) == 0
    assert hosts == ["ops@host-1"]
    assert getattr(asked[0], "image", "").endswith(f"/vllm@{DIGEST}")
