"""The weights gate, with the program that hashes run for real on folders of this machine."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tandem.errors import GateFailed, WeightsDiffer
from tandem.gates import work
from tandem.gates.hashing import hash_command
from tandem.gates.weights import verify
from tests.builders import safetensors, weights_spec

if TYPE_CHECKING:
    from tests.unit.gates.docker import FakeDocker

MANIFEST = Path("stacks/manifests/model.json")
SHARD = "model-00002.safetensors"
REVISION = "1" * 40
WHOLE = safetensors(b"2" * 6000)
FLIPPED = WHOLE[:-1] + b"3"


@pytest.fixture
def folders(docker: FakeDocker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the model's folder on each of two hosts, with the same files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stacks").mkdir()
    for number in (1, 2):
        folder = tmp_path / f"model-{number}"
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        (folder / "model-00001.safetensors").write_bytes(safetensors(b"1" * 5000))
        (folder / SHARD).write_bytes(WHOLE)
        docker.volumes[f"model-{number}"] = folder
        docker.volumes[f"hashes-{number}"] = tmp_path / f"hashes-{number}"
        docker.volumes[f"hashes-{number}"].mkdir()
    return [tmp_path / "model-1", tmp_path / "model-2"]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def told(*, revision: str | None = None, before: str = "") -> list[str]:
    """Return the lines of the failure."""
    with pytest.raises(GateFailed) as failed:
        verify(weights_spec(revision=revision), before)
    return str(failed.value).splitlines()


@pytest.fixture
def known(folders: list[Path]) -> bytes:
    """Return the manifest of the files as they are."""
    verify(weights_spec())
    return MANIFEST.read_bytes()


def test_without_a_manifest_it_is_made_from_the_first_host_once(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    result = verify(weights_spec(revision=REVISION))
    assert capsys.readouterr().err.splitlines() == [
        "stacks/manifests/model.json is made from the files of host-1: commit it",
        "3 files, 0.00 GiB, are as they have to be on host-1, host-2; 0.00 GiB were hashed now",
    ]
    data = json.loads(MANIFEST.read_text())
    assert (data["model"], data["revision"]) == ("org/model", REVISION)
    assert data["files"].keys() == {"config.json", "model-00001.safetensors", SHARD}
    assert result.pop("sha256")
    assert result == {
        "revision": REVISION,
        "files": 3,
        "bytes": 2 + len(safetensors(b"1" * 5000)) + len(WHOLE),
        "manifest": "stacks/manifests/model.json",
    }
    written = MANIFEST.stat()
    verify(weights_spec(revision=REVISION))
    assert MANIFEST.stat().st_mtime_ns == written.st_mtime_ns


def test_a_manifest_is_made_anew_when_all_hosts_have_other_files(
    folders: list[Path], known: bytes
) -> None:
    (folders[0] / SHARD).write_bytes(FLIPPED)
    with pytest.raises(WeightsDiffer):
        verify(weights_spec(), record=True)
    assert MANIFEST.read_bytes() == known
    (folders[1] / SHARD).write_bytes(FLIPPED)
    assert verify(weights_spec(), record=True) == verify(weights_spec())
    assert MANIFEST.read_bytes() != known


def test_where_hosts_differ_no_manifest_is_made(folders: list[Path]) -> None:
    (folders[1] / SHARD).write_bytes(FLIPPED)
    header, line, way = told()
    assert header == "not every host has the files of host-1, the first one:"
    assert line.startswith(f"host-2: {SHARD} has SHA-256 ")
    assert way == "if host-1 has the wrong ones: replace them there"
    assert not MANIFEST.exists()


def test_a_truncated_shard_is_told_with_both_sizes(folders: list[Path], known: bytes) -> None:
    (folders[1] / SHARD).write_bytes(WHOLE[:-1])
    header, line, way = told()
    assert header == "not every host has the files of stacks/manifests/model.json:"
    assert (
        line == f"host-2: {SHARD} has {len(WHOLE) - 1} bytes, not {len(WHOLE)}; copy it from host-1"
    )
    assert "model.revision" in way and "--record" in way
    assert MANIFEST.read_bytes() == known


def test_a_flipped_byte_is_told_with_both_hashes(folders: list[Path], known: bytes) -> None:
    (folders[0] / SHARD).write_bytes(FLIPPED)
    assert told()[1] == (
        f"host-1: {SHARD} has SHA-256 {digest(FLIPPED)}, not {digest(WHOLE)}; copy it from host-2"
    )
    assert MANIFEST.read_bytes() == known


def test_a_missing_file_is_told(folders: list[Path], known: bytes) -> None:
    (folders[1] / "config.json").unlink()
    assert told()[1] == (
        "host-2: config.json is missing (2 bytes, 44136fa355b3); copy it from host-1"
    )


def test_an_extra_file_is_told(folders: list[Path], known: bytes) -> None:
    (folders[1] / "consolidated.safetensors").write_bytes(b"1")
    assert told()[1] == (
        "host-2: consolidated.safetensors (1 bytes) is extra; move it out of the folder"
    )


def test_a_file_that_is_wrong_everywhere_comes_from_where_it_came_from(
    folders: list[Path], known: bytes
) -> None:
    for folder in folders:
        (folder / "config.json").write_text("[]")
    lines = told()
    assert [line.partition(":")[0] for line in lines[1:3]] == ["host-1", "host-2"]
    assert all(line.endswith("copy it from where it came from") for line in lines[1:3])


def test_of_many_wrong_files_the_first_are_named(folders: list[Path], known: bytes) -> None:
    for number in range(10):
        (folders[1] / f"extra-{number}").write_text("x")
    lines = told()
    assert len(lines) == 11
    assert lines[-2] == "host-2: and 2 more files"


def test_files_of_another_revision_are_told(folders: list[Path]) -> None:
    verify(weights_spec(revision=REVISION))
    (line,) = told(revision="2" * 40)
    assert line.startswith(f"stacks/manifests/model.json is of revision {REVISION}, and the stack")


def test_files_of_the_revision_before_make_no_manifest_of_the_next(folders: list[Path]) -> None:
    verify(weights_spec(revision=REVISION))
    later = replace(weights_spec(revision="2" * 40), manifest="stacks/manifests/later.json")
    with pytest.raises(GateFailed) as failed:
        verify(later)
    assert str(failed.value) == (
        f"host-1 has the files of revision {REVISION} (stacks/manifests/model.json), and the stack "
        f"file declares {'2' * 40}; put those files into the folder on every host"
    )
    for folder in folders:
        (folder / "config.json").write_text('{"new": 1}')
    verify(later)
    assert Path(later.manifest).exists()


def test_a_file_that_cannot_be_read_is_told(folders: list[Path], known: bytes) -> None:
    (folders[1] / SHARD).unlink()
    (folders[1] / SHARD).symlink_to("/nowhere/blob")
    assert told()[1] == (
        f"host-2: {SHARD} can't be used: No such file or directory; copy it from host-1"
    )


def test_an_interrupted_download_makes_no_manifest(folders: list[Path]) -> None:
    index = {"weight_map": {"a": "model-00001.safetensors", "b": "model-00003.safetensors"}}
    for folder in folders:
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
        (folder / SHARD).write_bytes(WHOLE[:-1])
    sizes = f"it has {len(WHOLE) - 1} bytes, and its header says {len(WHOLE)}"
    assert told() == [
        "host-1: model-00003.safetensors can't be used: model.safetensors.index.json names it, "
        "and it is not there",
        f"host-1: {SHARD} can't be used: {sizes}",
    ]
    assert not MANIFEST.exists()


def test_an_empty_folder_makes_no_manifest(folders: list[Path]) -> None:
    shutil.rmtree(folders[0])
    folders[0].mkdir()
    assert told() == ["host-1: the folder has no files"]
    assert not MANIFEST.exists()


def test_a_lost_manifest_is_not_made_from_other_files_than_last_time(
    folders: list[Path], known: bytes
) -> None:
    before = json.dumps(verify(weights_spec()))
    MANIFEST.unlink()
    for folder in folders:
        (folder / SHARD).write_bytes(FLIPPED)
    (line,) = told(before=before)
    assert line.startswith("stacks/manifests/model.json is not here, and the files of host-1 (")
    assert not MANIFEST.exists()
    for folder in folders:
        (folder / SHARD).write_bytes(WHOLE)
    verify(weights_spec(), before)
    assert MANIFEST.read_bytes() == known


@pytest.mark.parametrize(
    ("commit", "etag", "words"),
    [
        ("2" * 40, "e" * 40, "was downloaded at commit 222222222222, not 111111111111; correct"),
        (REVISION, "0" * 64, "has SHA-256 44136fa355b3, and the Hub said 000000000000; download"),
    ],
)
def test_a_manifest_is_not_made_from_what_was_not_downloaded(
    folders: list[Path], commit: str, etag: str, words: str
) -> None:
    notes = folders[0] / ".cache" / "huggingface" / "download"
    notes.mkdir(parents=True)
    (notes / "config.json.metadata").write_text(f"{commit}\n{etag}\n1.0\n")
    (line,) = told(revision=REVISION)
    assert line.startswith(f"host-1: config.json {words}")
    assert not MANIFEST.exists()


def test_hosts_that_cannot_hash_are_all_told(folders: list[Path], docker: FakeDocker) -> None:
    docker.reach = lambda host, look: host != "host-1"
    del docker.volumes["model-2"]
    assert told() == [
        "host host-1 does not answer: Connection timed out",
        "host-2 can't hash the model's files: Error: no such volume",
    ]


def test_when_the_gate_is_ended_the_hosts_end_too(folders: list[Path], docker: FakeDocker) -> None:
    for folder in folders:
        with (folder / "large.bin").open("wb") as file:
            file.truncate(1024**4)
    main = threading.main_thread().ident or 0
    timer = threading.Timer(1, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        verify(weights_spec())
    timer.join()
    assert len(docker.pids) == 2
    assert docker.is_idle


def test_a_host_that_says_nothing_any_more_ends_the_gate(
    folders: list[Path], docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(work, "SILENCE_SECONDS", 4)
    with (folders[1] / "large.bin").open("wb") as file:
        file.truncate(1024**4)
    (line,) = told()
    assert line == "host-2 has said nothing for 4 s"
    assert docker.is_idle


def test_the_model_is_read_only_and_without_network_in_a_container_that_does_not_stay() -> None:
    command = hash_command(weights_spec().folders[0], "vllm:1")
    assert command.startswith(
        "docker volume inspect model-1 hashes-1 >/dev/null && exec docker run"
    )
    for word in ("--rm", "--network=none", "--pull=never", "--volume=model-1:/model:ro"):
        assert f" {word} " in command
