"""Each gate as Pulumi starts it: a spec on standard input, a result or a reason on its outputs."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tandem.gates.spec import HubSource, KeepSpec, ReleaseSpec
from tandem.ssh import SshTarget
from tandem.units import GIB
from tests.api import chat, served
from tests.builders import image_spec, join_spec, ready_spec, watched, weights_spec
from tests.hub import COMMIT, stand_in_hub
from tests.project import ROOT

if TYPE_CHECKING:
    from tests.unit.gates.docker import FakeDocker

KEY = "sesame"
SERVER = "tandem-test-host-1-server"
WORKER = "tandem-test-host-2-ray-worker"
VERSIONS = {"python": platform.python_version(), "ray": "2.60.0", "vllm": "0.19.1"}
NODES = {"10.0.0.1": [1], "10.0.0.2": [1]}
KEPT = "logs are kept: `python -m tandem logs test --previous`"
RELEASE = ReleaseSpec("test", "host-1", SshTarget("ops@host-1"), 1024 * GIB, 0)
BEFORE = {"total": 9, "available": 8, "anonymous": 1, "shared": 0, "gpu": None, "gpu_processes": 0}


class Spec(Protocol):
    """What a gate is told."""

    def to_json(self) -> str: ...


@pytest.fixture(autouse=True)
def folder(docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that the gates run in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stacks").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return tmp_path


def run(name: str, spec: Spec, before: object = None) -> subprocess.CompletedProcess[str]:
    """Run a gate as a program; ``before`` is what it has printed the last time."""
    told = {} if before is None else {"PULUMI_COMMAND_STDOUT": json.dumps(before)}
    return subprocess.run(
        [sys.executable, "-m", *f"tandem.gates.{name}".split()],
        input=spec.to_json(),
        env=os.environ | told,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def result(name: str, spec: Spec, before: object = None) -> Any:
    """Return what a gate that is through prints, which is one line of JSON."""
    done = run(name, spec, before)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
    return json.loads(done.stdout)


def reason(name: str, spec: Spec, before: object = None) -> list[str]:
    """Return why a gate gave up, in lines; it prints no result then."""
    done = run(name, spec, before)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    return done.stderr.partition("error: ")[2].splitlines()


def test_image() -> None:
    assert result("image", image_spec()) == VERSIONS


def test_image_gives_up(docker: FakeDocker) -> None:
    docker.versions["host-2"] = {"vllm": "0.19.1"}
    first, ray, _ = reason("image", image_spec())
    assert first == "the image is not the same everywhere:"
    assert ray == "ray differs: 2.60.0 on host-1, none on host-2"


def test_weights_are_compared_with_what_was_printed_last(docker: FakeDocker, folder: Path) -> None:
    for name in ("model-1", "model-2", "hashes-1", "hashes-2"):
        docker.volumes[name] = folder / name
        docker.volumes[name].mkdir()
    for name in ("model-1", "model-2"):
        (folder / name / "config.json").write_text("{}")
    spec = weights_spec()
    before = result("weights", spec)
    assert (before["files"], before["bytes"], before["manifest"]) == (1, 2, spec.manifest)
    Path(spec.manifest).unlink()
    assert result("weights", spec, before) == before
    Path(spec.manifest).unlink()
    (line,) = reason("weights", spec, before | {"sha256": "0" * 64})
    assert line.startswith(f"{spec.manifest} is not here, and the files of host-1 (")


def test_weights_from_the_hub_are_fetched(docker: FakeDocker, folder: Path) -> None:
    for name in ("model-1", "hashes-1"):
        docker.volumes[name] = folder / name
        docker.volumes[name].mkdir()
    with stand_in_hub() as hub:
        hub.models["org/model"] = {"config.json": b"{}"}
        spec = replace(weights_spec(1, COMMIT), hub=HubSource(hub.address))
        assert result("weights", spec)["revision"] == COMMIT
    assert (folder / "model-1/config.json").read_text() == "{}"


def test_join(docker: FakeDocker) -> None:
    docker.alive = NODES
    assert result("join", join_spec()) == {
        "nodes": {"10.0.0.1": 1, "10.0.0.2": 1},
        "versions": VERSIONS,
    }


def test_join_gives_up_and_keeps_the_logs() -> None:
    first, *_, last = reason("join", join_spec(timeout_seconds=0))
    assert (first, last) == ("not joined after 0 s: no answer from Ray", KEPT)


def test_ready_sends_the_key(folder: Path) -> None:
    (folder / "api-key").write_text(KEY)
    with served(chat({"content": "Hello"}), KEY) as url:
        spec = replace(ready_spec(), url=url, key_file=str(folder / "api-key"))
        assert result("ready", spec)["servedName"] == "model"


def test_ready_gives_up_and_keeps_the_logs() -> None:
    first, *_, last = reason("ready", ready_spec(timeout_seconds=0))
    assert (first, last) == ("no answer after 0 s", KEPT)


@pytest.mark.parametrize("gate", ["join", "ready"])
def test_join_and_ready_begin_with_the_first_cause(gate: str, docker: FakeDocker) -> None:
    docker.logs[WORKER] = "exec: ray: not found\n"
    spec = join_spec(timeout_seconds=0) if gate == "join" else ready_spec(timeout_seconds=0)
    first, then, *_, last = reason(gate, spec)
    assert first == "first cause: exec: ray: not found, on host-2, at 12:14:48"
    assert then.startswith({"join": "not joined after", "ready": "no answer after"}[gate])
    assert last == KEPT


def test_keep() -> None:
    assert result("keep", KeepSpec(watched(2), (), WORKER)) == {"kept": WORKER}


def test_keep_gives_up(docker: FakeDocker) -> None:
    docker.reach = lambda container, look: False
    first, *_ = reason("keep", KeepSpec(watched(2), (), WORKER))
    assert first.startswith("host host-2 ")


def test_release_records_the_memory_before_the_start_once(docker: FakeDocker) -> None:
    recorded = result("release record", RELEASE)
    assert recorded.keys() == BEFORE.keys()
    assert 0 < recorded["available"] <= recorded["total"]
    assert result("release record", RELEASE, BEFORE) == BEFORE
    docker.listed["host-1"] = [SERVER]
    assert result("release record", RELEASE) == {}


def test_release_checks_what_is_left(docker: FakeDocker) -> None:
    assert result("release check", RELEASE, BEFORE).keys() == {"seconds"}
    docker.listed["host-1"] = [SERVER]
    first, container, _ = reason("release check", RELEASE, BEFORE)
    assert first == "host-1 is not free 0 s after its containers were removed:"
    assert container == f"host-1: container {SERVER} is there"


def test_release_checks_against_what_was_recorded() -> None:
    before = BEFORE | {"total": 2**60, "available": 2**60}
    _, memory, _ = reason("release check", replace(RELEASE, memory_bytes=GIB), before)
    assert "of memory are held by no process" in memory
