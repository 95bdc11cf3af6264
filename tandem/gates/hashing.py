"""What is in the model's folder of every host: ``tandem.remote.hash_model`` run on all at once."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tandem.gates.manifest import FileEntry
from tandem.gates.work import Work, answers
from tandem.remote import source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tandem.gates.spec import WeightsFolder

FOLDER, CACHE = "/model", "/hashes"
"""Where a container has the two volumes."""


@dataclass(frozen=True)
class Found:
    """The files of one host, by their path in the model's folder."""

    host: str
    sizes: Mapping[str, int]
    """In bytes."""
    hashes: Mapping[str, str]
    """Empty where nothing was hashed, since names or sizes are wrong already."""
    problems: Mapping[str, str]
    """In words, why a file can't be used."""
    downloads: Mapping[str, Sequence[str]]
    """Commit and ETag that huggingface_hub noted for a file."""
    read: int
    """Bytes that were hashed and not known before."""

    @property
    def files(self) -> dict[str, FileEntry]:
        """Return the files that were hashed."""
        return {name: FileEntry(self.sizes[name], hash_) for name, hash_ in self.hashes.items()}


def hash_everywhere(
    folders: Sequence[WeightsFolder],
    image: str,
    sizes: Mapping[str, int] | None,
    *,
    anew: bool = False,
) -> list[Found]:
    """Return what each host has; where ``sizes`` are given, other files are not hashed.

    ``anew`` also hashes what has not changed since it was hashed last. Raises GateFailed when a
    host does not answer or can't hash.
    """
    question = json.dumps({"sizes": sizes, "anew": anew}) + "\n"
    work = [
        Work(folder, hash_command(folder, image), question, "hash the model's files")
        for folder in folders
    ]
    return [
        Found(folder.host, **answer) for folder, answer in zip(folders, answers(work), strict=True)
    ]


def hash_command(folder: WeightsFolder, image: str) -> str:
    """Return the shell command that hashes a folder on its host and changes nothing there.

    Without the look at the volumes first, Docker would make empty ones of these names.
    """
    volumes = (f"--volume={folder.volume}:{FOLDER}:ro", f"--volume={folder.hashes}:{CACHE}")
    options = ("--rm", "--interactive", "--pull=never", "--network=none", "--log-driver=none")
    program = ("--user=0", "--entrypoint=python3", image, "-c", source("hash_model.py"))
    run = shlex.join(("docker", "run", *options, *volumes, *program, FOLDER, CACHE))
    names = shlex.join((folder.volume, folder.hashes))
    return f"docker volume inspect {names} >/dev/null && exec {run}"
