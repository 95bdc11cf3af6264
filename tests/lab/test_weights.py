"""The weights gate against real hosts, on a copy of the lab's model."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lab import Lab
from tandem.gates.spec import WeightsFolder, WeightsSpec
from tandem.ssh import SshTarget

ROOT = Path(__file__).parents[2]
FOLDER = "/srv/models/of-the-weights-test"
REVISION = "1" * 40
SHARD = "model.safetensors"

FLIP = f"printf X | dd of={SHARD} bs=1 seek=5000 conv=notrunc status=none"
CHANGES = {
    "shard truncated": (f"truncate -s 300000 {SHARD}", rf"{SHARD} has 300000 bytes, not \d+"),
    "one byte flipped": (FLIP, rf"{SHARD} has SHA-256 [0-9a-f]{{12}}, not [0-9a-f]{{12}}"),
    "one byte flipped, mtime set back": (
        f"touch -r {SHARD} /tmp/before; {FLIP}; touch -r /tmp/before {SHARD}",
        rf"{SHARD} has SHA-256 [0-9a-f]{{12}}, not [0-9a-f]{{12}}",
    ),
    "file missing": (
        "rm tokenizer.json",
        r"tokenizer\.json is missing \(\d+ bytes, [0-9a-f]{12}\)",
    ),
    "file extra": ("echo x >adapter.bin", r"adapter\.bin \(2 bytes\) is extra; move it"),
}


@dataclass(frozen=True)
class Gate:
    """The gate over both hosts, run in a folder of its own as Pulumi runs it."""

    folder: Path
    spec: WeightsSpec

    def start(self, spec: WeightsSpec | None = None) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [sys.executable, "-m", "tandem.gates.weights"],
            cwd=self.folder,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write((spec or self.spec).to_json())
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, spec: WeightsSpec | None = None) -> tuple[int, str, list[str]]:
        """Return exit status, output, and the lines of standard error."""
        with self.start(spec) as process:
            output, errors = process.communicate()
        return process.returncode, output, errors.splitlines()

    @property
    def manifest(self) -> Path:
        return self.folder / self.spec.manifest


@pytest.fixture(scope="module")
def volumes(hosts: Lab) -> Iterator[tuple[WeightsFolder, ...]]:
    """Return the model's folder of each host, with the image pulled and two volumes."""
    folders = tuple(
        WeightsFolder(
            host=host.name,
            target=SshTarget(host.name, ("-F", str(hosts.ssh_config))),
            volume="tandem-weights-test-model",
            device=FOLDER,
            hashes="tandem-weights-test-hashes",
        )
        for host in hosts.hosts
    )
    bound = f"docker volume create -o type=none -o o=bind -o device={FOLDER} {folders[0].volume}"
    for host in hosts.hosts:
        made = f"docker pull -q {hosts.image} && mkdir -p {FOLDER} && {bound}"
        done = host.ssh(f"{made} && docker volume create {folders[0].hashes}", timeout=600)
        assert done.returncode == 0, done.stderr
    yield folders
    for host in hosts.hosts:
        host.ssh(f"docker volume rm {folders[0].volume} {folders[0].hashes}; rm -r {FOLDER}")


@pytest.fixture
def gate(hosts: Lab, volumes: tuple[WeightsFolder, ...], tmp_path: Path) -> Gate:
    """Return the gate with the manifest of the files, which are whole on both hosts."""
    for host in hosts.hosts:
        host.ssh(f"rm -rf {FOLDER}/* && cp -a /srv/models/tiny-qwen3/. {FOLDER}")
    (tmp_path / "stacks").mkdir()
    (tmp_path / "tandem").symlink_to(ROOT / "tandem")
    manifest = "stacks/manifests/tiny.json"
    spec = WeightsSpec(volumes, hosts.image, "tandem/tiny-qwen3", REVISION, manifest)
    made = Gate(tmp_path, spec)
    code, output, said = made.run()
    assert code == 0, said
    assert json.loads(output)["files"] == len(json.loads(made.manifest.read_text())["files"]) >= 5
    return made


def _state(hosts: Lab) -> list[str]:
    words = f"docker ps -aq; docker volume ls -q; cd {FOLDER} && sha256sum *; stat -c '%n %Y %Z' *"
    return [host.ssh(words).stdout for host in hosts.hosts]


def test_the_second_time_nothing_is_read_again(gate: Gate) -> None:
    before = gate.manifest.read_bytes()
    time.sleep(2.5)  # what changed a moment ago is not taken for settled
    assert gate.run()[0] == 0
    code, _, said = gate.run()
    assert code == 0
    assert said[-1].endswith("on lab-1, lab-2; 0.00 GiB were hashed now")
    assert gate.manifest.read_bytes() == before


@pytest.mark.parametrize("case", CHANGES)
def test_a_changed_file_is_told_by_host_and_nothing_is_touched(
    case: str, gate: Gate, hosts: Lab
) -> None:
    change, words = CHANGES[case]
    assert hosts.hosts[1].ssh(f"cd {FOLDER} && {change}").returncode == 0
    manifest, before = gate.manifest.read_bytes(), _state(hosts)
    code, output, said = gate.run()
    assert (code, output) == (1, "")
    assert said[0] == "error: not every host has the files of stacks/manifests/tiny.json:"
    assert re.match(f"lab-2: {words}", said[1]), said
    assert len(said) == 3
    assert gate.manifest.read_bytes() == manifest
    assert _state(hosts) == before


def test_a_manifest_of_another_revision_is_refused(gate: Gate) -> None:
    code, _, said = gate.run(replace(gate.spec, revision="2" * 40))
    assert code == 1
    assert len(said) == 1
    assert f"is of revision {REVISION}, and the stack file declares {'2' * 40}" in said[0]


def test_files_of_another_revision_are_told_with_the_manifest_of_this_one(
    gate: Gate, hosts: Lab
) -> None:
    for host in hosts.hosts:
        host.ssh(f"cd {FOLDER} && {FLIP} && echo >>config.json")
    code, _, said = gate.run()
    assert code == 1
    named = [line.split()[:2] for line in said[1:-1]]
    # Sizes differ already, so nothing was hashed.
    assert named == [["lab-1:", "config.json"], ["lab-2:", "config.json"]]


def test_a_host_without_the_volume_is_told_and_gets_none(gate: Gate, hosts: Lab) -> None:
    before = _state(hosts)
    first, second = gate.spec.folders
    folders = (first, replace(second, volume="tandem-not-there"))
    code, _, said = gate.run(replace(gate.spec, folders=folders))
    assert code == 1
    assert said[-1].startswith("error: lab-2 can't hash the model's files: ")
    assert "tandem-not-there" in said[-1]
    assert _state(hosts) == before


def test_when_the_gate_is_ended_nothing_stays_at_work_on_the_hosts(gate: Gate, hosts: Lab) -> None:
    gate.manifest.unlink()
    for host in hosts.hosts:
        host.ssh(f"truncate -s 200G {FOLDER}/large.bin")
    with gate.start() as process:
        _until(lambda: all(_running(hosts)))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 143
    _until(lambda: not any(_running(hosts)))


def _running(hosts: Lab) -> list[str]:
    return [
        host.ssh("docker ps -q --filter volume=tandem-weights-test-model").stdout
        for host in hosts.hosts
    ]


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.5)
