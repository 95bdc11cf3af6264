"""The program that hashes a model's folder, on real files."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tandem.remote import hash_model, source
from tandem.remote.hash_model import look
from tests.builders import safetensors

WEIGHTS = safetensors(b"weights" * 1000)
SIZE = len(WEIGHTS)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the hashes, which are kept of files that are as new as a test's."""
    monkeypatch.setattr(hash_model, "SETTLED_SECONDS", -3600)
    folder = tmp_path / "hashes"
    folder.mkdir()
    return folder


def seen(model: Path, cache: Path, **options: Any) -> dict[str, Any]:
    return look(model, cache, **options)


def test_every_file_is_hashed_by_its_path(model: Path, cache: Path) -> None:
    (model / "original").mkdir()
    (model / "original" / "params.json").write_text("1")
    found = seen(model, cache)
    assert found["sizes"] == {
        "config.json": 2,
        "model.safetensors": SIZE,
        "original/params.json": 1,
    }
    for name, digest in found["hashes"].items():
        assert digest == hashlib.sha256((model / name).read_bytes()).hexdigest()
    assert found["read"] == SIZE + 3


def test_hidden_files_and_locks_do_not_count(model: Path, cache: Path) -> None:
    for name in (".gitattributes", ".cache/huggingface/x", "download.lock", "original/.git/config"):
        (model / name).parent.mkdir(parents=True, exist_ok=True)
        (model / name).write_text("x")
    assert set(seen(model, cache)["sizes"]) == {"config.json", "model.safetensors"}


def test_a_link_counts_as_what_it_leads_to(model: Path, cache: Path, tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    (model / "config.json").rename(blob)
    (model / "config.json").symlink_to(blob)
    assert seen(model, cache)["sizes"]["config.json"] == 2
    blob.unlink()
    found = seen(model, cache)
    assert found["problems"] == {"config.json": "No such file or directory"}
    assert found["hashes"] == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (WEIGHTS[:-5], f"it has {SIZE - 5} bytes, and its header says {SIZE}"),
        (WEIGHTS + b"x", f"it has {SIZE + 1} bytes, and its header says {SIZE}"),
        (WEIGHTS[:20], "it has no header of safetensors"),
        (b"", "it has no header of safetensors"),
        (b"version https://git-lfs", "it is a Git LFS pointer, not the file: `git lfs pull`"),
    ],
)
def test_a_shard_against_its_own_header_is_told(
    model: Path, cache: Path, content: bytes, words: str
) -> None:
    (model / "model.safetensors").write_bytes(content)
    found = seen(model, cache)
    assert found["problems"] == {"model.safetensors": words}
    assert found["hashes"] == {}


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"weight_map": [1]}'])
def test_a_broken_index_is_told(model: Path, cache: Path, text: str) -> None:
    index = "model.safetensors.index.json"
    (model / index).write_text(text)
    assert seen(model, cache)["problems"] == {index: "it is no index of shards"}


def test_what_is_no_file_is_told(model: Path, cache: Path) -> None:
    os.mkfifo(model / "pipe")
    assert seen(model, cache)["problems"] == {"pipe": "it is no file"}


def test_what_has_not_changed_is_not_read_again(model: Path, cache: Path) -> None:
    first = seen(model, cache)
    again = seen(model, cache)
    assert again["read"] == 0
    assert again["hashes"] == first["hashes"]
    assert seen(model, cache, anew=True)["read"] == SIZE + 2


def test_a_flipped_byte_is_seen_although_size_and_mtime_are_the_old_ones(
    model: Path, cache: Path
) -> None:
    first = seen(model, cache)
    path = model / "model.safetensors"
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(3000)
        file.write(b"X")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    found = seen(model, cache)
    assert found["read"] == SIZE
    assert found["hashes"]["model.safetensors"] != first["hashes"]["model.safetensors"]


def test_a_file_that_changed_a_moment_ago_is_read_again(
    model: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hash_model, "SETTLED_SECONDS", 2)
    seen(model, cache)
    assert seen(model, cache)["read"] == SIZE + 2


def test_a_cache_that_is_broken_is_made_anew(model: Path, cache: Path) -> None:
    seen(model, cache)
    (cache / "hashes.json").write_text('{"config.js')
    assert seen(model, cache)["read"] == SIZE + 2
    assert seen(model, cache)["read"] == 0


def test_nothing_is_hashed_where_sizes_are_wrong_already(model: Path, cache: Path) -> None:
    found = seen(model, cache, sizes={"config.json": 2, "model.safetensors": SIZE + 1})
    assert found["sizes"]["model.safetensors"] == SIZE
    assert found["hashes"] == {}
    assert seen(model, cache, sizes=found["sizes"])["read"] == SIZE + 2


def test_what_huggingface_hub_noted_of_a_download_is_told(model: Path, cache: Path) -> None:
    notes = model / ".cache" / "huggingface" / "download"
    notes.mkdir(parents=True)
    (notes / "config.json.metadata").write_text("abc123\nd41d8c\n1700000000.5\n")
    assert seen(model, cache)["downloads"] == {"config.json": ("abc123", "d41d8c")}


def test_rate_and_time_left_are_told_meanwhile(
    model: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hash_model, "REPORT_SECONDS", 0.01)
    with (model / "sparse.bin").open("wb") as file:
        file.truncate(256 * 1024**2)
    seen(model, cache)
    told = capsys.readouterr().err.splitlines()
    assert any("of 0.3 GiB hashed" in line and line.endswith(" s left") for line in told)


def test_the_program_ends_when_nobody_waits_for_it_any_more(model: Path, cache: Path) -> None:
    with (model / "sparse.bin").open("wb") as file:
        file.truncate(1024**4)
    argv = [sys.executable, "-c", source("hash_model.py"), str(model), str(cache)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        program.stdin.write(json.dumps({"sizes": None, "anew": False}) + "\n")
        program.stdin.close()
        assert program.wait(timeout=30) == 1


def test_hashes_that_cannot_be_kept_are_told_in_one_line(model: Path, tmp_path: Path) -> None:
    argv = [sys.executable, "-c", source("hash_model.py"), str(model), str(tmp_path / "nothing")]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin is not None
        assert program.stderr is not None
        program.stdin.write(json.dumps({"sizes": None, "anew": False}) + "\n")
        program.stdin.flush()
        (said,) = program.stderr.read().splitlines()
    assert "No such file or directory" in said
    assert program.returncode == 1
