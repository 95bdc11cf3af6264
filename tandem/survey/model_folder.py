"""The model's folder: its config.json and the weights, without reading them."""

from __future__ import annotations

import json
from typing import Any

from tandem.survey.base import FactsModel, whole


class WeightFile(FactsModel):
    """A safetensors file: 8 bytes of length, a header as long as that, and the tensors.

    There are no gaps between them (github.com/huggingface/safetensors, README).
    """

    name: str
    size: int
    """Bytes of the whole file."""
    header: int | None
    """Bytes of the header, as the file's first 8 bytes say."""

    @property
    def is_broken(self) -> bool:
        """Tell whether the header does not fit into the file, as in a Git LFS pointer."""
        return self.header is not None and self.size < 8 + self.header

    @property
    def tensor_bytes(self) -> int | None:
        """Return the bytes of all tensors, exactly; None when the file can't be such a file."""
        return None if self.header is None or self.is_broken else self.size - 8 - self.header


class ModelFolder(FactsModel):
    """What a host has of the model."""

    has_config: bool = False
    config: dict[str, Any] | None = None
    """What config.json says; None when it can't be read, or is no JSON object below 1 MiB."""
    files: tuple[WeightFile, ...] = ()
    """Every ``*.safetensors``, by name."""
    indexed: frozenset[str] | None = None
    """The files that model.safetensors.index.json names; None without such an index."""

    @property
    def loaded(self) -> tuple[WeightFile, ...]:
        """Return the files that vLLM loads: with an index those that it names, else all.

        (``filter_duplicate_safetensors_files``, vllm/model_executor/model_loader/weight_utils.py)
        """
        return tuple(f for f in self.files if self.indexed is None or f.name in self.indexed)

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the names in the index that have no file."""
        return tuple(sorted((self.indexed or frozenset()) - {file.name for file in self.files}))

    @property
    def weights_bytes(self) -> int | None:
        """Return the bytes of all tensors, exactly; None when a file is missing or broken."""
        sizes = [file.tensor_bytes for file in self.loaded]
        known = [size for size in sizes if size is not None]
        return sum(known) if known and len(known) == len(sizes) and not self.missing else None


def read_model_folder(config: str, weights: str, index: str) -> ModelFolder:
    """Read the ``config``, ``weights`` and ``index`` sections of the probe."""
    found, _, text = config.partition("\n")
    indexed = frozenset(line.strip('"') for line in index.splitlines())
    files = (_file(line) for line in weights.splitlines())
    return ModelFolder(
        has_config=found == "yes",
        config=_object(text),
        files=tuple(sorted((f for f in files if f is not None), key=lambda file: file.name)),
        indexed=indexed or None,
    )


def read_volume(printed: str) -> int | None:
    """Return the bytes in the volume that files from the Hub come to, 0 where there is none.

    None where that can't be told: only root may look, or the files are in a folder.
    """
    if printed.strip() == "absent":
        return 0
    size = whole(printed.partition("\t")[0])
    return None if size is None else size * 1024


def _object(text: str) -> dict[str, Any] | None:
    try:
        config = json.loads(text)
    except ValueError:
        return None
    return config if isinstance(config, dict) else None


def _file(line: str) -> WeightFile | None:
    row = line.split("\t", 2)
    size = whole(row[0])
    if len(row) != 3 or size is None:
        return None
    return WeightFile(name=row[2], size=size, header=whole(row[1]))
