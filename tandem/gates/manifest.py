"""The manifest of a model: every file's size and SHA-256, in a file beside the stack file.

It is a file of the project and not an output in Pulumi's state, since the state is lost with
`pulumi destroy`, and a review shows a change of a file. Its content is no input of the gate, so
that the first `up`, which writes it, leaves nothing to do for the second one. It is written once,
when there is none: files that differ from it later are an error, whoever looks, until somebody has
it made anew on purpose (`python -m tandem weights --record`). Commit it, and every operator
compares with the same files; the gate's output in the state, which all of them see, is the second
witness where it was not committed. With files from the Hub it is made from the Hub's own words, and
the commit is the second witness.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tandem.errors import GateFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

SHORT = 12
"""How many digits of a hash are shown."""


@dataclass(frozen=True)
class FileEntry:
    """A file as it has to be; size in bytes."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """All files of a model that count, by their path in its folder."""

    model: str
    revision: str | None
    files: Mapping[str, FileEntry]

    @property
    def sizes(self) -> dict[str, int]:
        """Return the size of each file in bytes."""
        return {name: entry.size for name, entry in self.files.items()}

    @property
    def digest(self) -> str:
        """Return one hash over all: the SHA-256 of what ``sha256sum`` prints for the files.

        By path, in the order of ``LC_ALL=C sort``.
        """
        lines = (f"{self.files[name].sha256}  {name}\n" for name in sorted(self.files))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @property
    def summary(self) -> dict[str, object]:
        """Return what is worth showing: revision, number of files, bytes, one hash over all."""
        return {
            "revision": self.revision,
            "files": len(self.files),
            "bytes": sum(self.sizes.values()),
            "sha256": self.digest,
        }


def read_manifest(path: Path, model: str, revision: str | None) -> Manifest | None:
    """Return the manifest of a model, or None when there is none.

    Raises GateFailed when the file can't be read, or is of another model or revision.
    """
    if not path.exists():
        return None
    found = _read(path)
    for word, one, other in (("model", found.model, model), ("revision", found.revision, revision)):
        if one != other:
            raise GateFailed(
                f"{path} is of {word} {one}, and the stack file declares {other}; "
                f"correct model.{'id' if word == 'model' else word}, or restore the file"
            )
    return found


def manifests_of(folder: Path, model: str) -> list[tuple[Path, Manifest]]:
    """Return all manifests of a model, of whatever revision.

    Raises GateFailed when a file can't be read.
    """
    manifests = [(path, _read(path)) for path in sorted(folder.glob("*.json"))]
    return [(path, manifest) for path, manifest in manifests if manifest.model == model]


def _read(path: Path) -> Manifest:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        files = {name: FileEntry(**entry) for name, entry in data["files"].items()}
        return Manifest(data["model"], data["revision"], files)
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        raise GateFailed(f"{path} is no manifest: {problem}; restore it") from None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest; a reader sees all of it or nothing."""
    data: dict[str, Any] = {
        "model": manifest.model,
        "revision": manifest.revision,
        "files": {
            name: {"size": entry.size, "sha256": entry.sha256}
            for name, entry in manifest.files.items()
        },
    }
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    unfinished.replace(path)
