"""An OCI image layout on disk: blobs named by their content, a manifest, a configuration."""

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.errors import LabError

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Layer:
    """One compressed tar of a layout: digests with their algorithm, the size in bytes."""

    digest: str
    diff_id: str
    size: int


def pack_layer(root: Path, taken: Sequence[str], left: Sequence[str], layout: Path) -> Layer:
    """Pack paths of a root file system as a layer into a layout.

    Raises LabError when tar or the compressor fails.
    """
    blobs = _blobs(layout)
    unfinished = blobs / "unfinished"
    # Holes stay out of the stream; Docker reads that in the POSIX format only.
    tar = ["tar", "--create", "--sparse", "--format=posix", "--sort=name", "--numeric-owner"]
    tar += ["--pax-option=delete=atime,delete=ctime", "--one-file-system"]
    excludes = [f"--exclude={path}" for path in left]
    plain = hashlib.sha256()
    with (
        unfinished.open("wb") as output,
        subprocess.Popen(
            [*tar, f"--directory={root}", "--anchored", *excludes, *taken], stdout=subprocess.PIPE
        ) as source,
        # Level 1: the daemons' time to unpack counts, not the size.
        subprocess.Popen(["pigz", "-1"], stdin=subprocess.PIPE, stdout=output) as compressor,
    ):
        assert source.stdout and compressor.stdin
        while chunk := source.stdout.read(_CHUNK):
            plain.update(chunk)
            compressor.stdin.write(chunk)
        compressor.stdin.close()
    if source.returncode or compressor.returncode:
        raise LabError(f"packing {', '.join(taken)} into an image layer failed")
    with unfinished.open("rb") as packed:
        digest = hashlib.file_digest(packed, "sha256").hexdigest()
    size = unfinished.stat().st_size
    unfinished.rename(blobs / digest)
    return Layer(f"sha256:{digest}", f"sha256:{plain.hexdigest()}", size)


def image_config(layers: Sequence[Layer], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return an image configuration with the settings that containers start with."""
    return {
        "architecture": "amd64",
        "os": "linux",
        "config": dict(settings),
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created_by": "Tandem's lab"} for _ in layers],
    }


def write_layout(layers: Sequence[Layer], settings: Mapping[str, Any], layout: Path) -> None:
    """Write the configuration, the manifest and the index of an image whose layers are there."""
    config = _write_blob(layout, _CONFIG, image_config(layers, settings))
    manifest = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": config,
        "layers": [
            {"mediaType": _LAYER, "digest": layer.digest, "size": layer.size} for layer in layers
        ],
    }
    index = {"schemaVersion": 2, "manifests": [_write_blob(layout, _MANIFEST, manifest)]}
    (layout / "index.json").write_text(json.dumps(index))
    (layout / "oci-layout").write_text(json.dumps({"imageLayoutVersion": "1.0.0"}))


def _write_blob(layout: Path, media_type: str, value: Mapping[str, Any]) -> dict[str, Any]:
    content = json.dumps(value, sort_keys=True).encode()
    digest = hashlib.sha256(content).hexdigest()
    (_blobs(layout) / digest).write_bytes(content)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def _blobs(layout: Path) -> Path:
    blobs = layout / "blobs" / "sha256"
    blobs.mkdir(parents=True, exist_ok=True)
    return blobs
