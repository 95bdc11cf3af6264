"""Image layouts and layers."""

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.image import layout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "opt" / "left").mkdir(parents=True)
    (root / "bin" / "tool").write_text("tool")
    (root / "opt" / "left" / "file").write_text("left out")
    return root


def names(blob: bytes) -> set[str]:
    with tarfile.open(fileobj=io.BytesIO(blob)) as tar:
        return set(tar.getnames())


def test_layer(root: Path, tmp_path: Path) -> None:
    layer = layout.pack_layer(root, ["."], ["./opt/left"], tmp_path / "layout")
    blob = tmp_path / "layout" / "blobs" / "sha256" / layer.digest.removeprefix("sha256:")
    packed = blob.read_bytes()
    plain = gzip.decompress(packed)
    assert layer.size == len(packed)
    assert layer.digest == f"sha256:{hashlib.sha256(packed).hexdigest()}"
    assert layer.diff_id == f"sha256:{hashlib.sha256(plain).hexdigest()}"
    assert names(plain) == {".", "./bin", "./bin/tool", "./opt"}


def test_a_layer_of_missing_files_is_an_error(root: Path, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="missing"):
        layout.pack_layer(root, ["./missing"], [], tmp_path / "layout")


def test_written_layout_holds_together(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "layout"
    layers = [layout.pack_layer(root, [f"./{name}"], [], folder) for name in ("bin", "opt")]
    layout.write_layout(layers, {"Env": ["PATH=/bin"]}, folder)

    def blob(digest: str) -> dict[str, object]:
        content = (folder / "blobs" / "sha256" / digest.removeprefix("sha256:")).read_bytes()
        assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
        value: dict[str, object] = json.loads(content)
        return value

    index = json.loads((folder / "index.json").read_text())
    manifest = blob(index["manifests"][0]["digest"])
    config = blob(manifest["config"]["digest"])  # type: ignore[index]
    assert [entry["digest"] for entry in manifest["layers"]] == [  # type: ignore[attr-defined]
        layer.digest for layer in layers
    ]
    assert config["rootfs"] == {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]}
    assert config["config"] == {"Env": ["PATH=/bin"]}
