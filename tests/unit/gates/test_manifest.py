"""The manifest's file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tandem.errors import GateFailed
from tandem.gates.manifest import FileEntry, Manifest, read_manifest, write_manifest

FILES = {"b.json": FileEntry(2, "b" * 64), "a/c.json": FileEntry(3, "c" * 64)}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    made = Manifest("org/model", None, FILES)
    path = tmp_path / "manifests" / "model.json"
    assert read_manifest(path, "org/model", None) is None
    write_manifest(path, made)
    assert read_manifest(path, "org/model", None) == made
    assert [place.name for place in path.parent.iterdir()] == ["model.json"]


@pytest.mark.parametrize(
    ("model", "revision", "words"),
    [
        (
            "org/model",
            "2" * 40,
            f"is of revision {'1' * 40}, and the stack file declares {'2' * 40}",
        ),
        ("org/other", "1" * 40, "is of model org/model, and the stack file declares org/other"),
    ],
)
def test_a_manifest_of_another_revision_or_model_is_refused(
    tmp_path: Path, model: str, revision: str, words: str
) -> None:
    path = tmp_path / "model.json"
    write_manifest(path, Manifest("org/model", "1" * 40, FILES))
    with pytest.raises(GateFailed) as failed:
        read_manifest(path, model, revision)
    assert words in str(failed.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"model": "m", "revision": null, "files": [1]}'])
def test_a_broken_manifest_is_told_and_not_made_again(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(GateFailed, match="is no manifest"):
        read_manifest(path, "m", None)
    assert path.read_text() == text


def test_the_hash_over_all_is_that_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("B", "a", "sub/x"):
        (tmp_path / name).write_text(name)
    words = "export LC_ALL=C; find . -type f -printf '%P\\n' | sort | xargs sha256sum"
    listed = subprocess.check_output(["sh", "-c", words], cwd=tmp_path, text=True)
    files = {
        name: FileEntry(1, digest)
        for digest, name in (line.split("  ") for line in listed.splitlines())
    }
    whole = subprocess.check_output(["sha256sum"], input=listed, text=True).split()[0]
    assert Manifest("m", None, files).summary["sha256"] == whole
