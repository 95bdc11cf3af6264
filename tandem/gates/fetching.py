"""The model's files from the Hub to the hosts: ``tandem.remote.fetch_model`` on several at once.

The token and, where the stack file names none, the Hub's address are those of whoever runs the
gate. They go to a host on standard input: no argument, variable, log or state has them.
"""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from tandem.errors import GateFailed
from tandem.gates.hashing import FOLDER
from tandem.gates.manifest import FileEntry, Manifest
from tandem.gates.work import Work, answers
from tandem.remote import source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tandem.gates.spec import WeightsFolder, WeightsSpec

TOKEN, ENDPOINT = "HF_TOKEN", "HF_ENDPOINT"
"""Variables that count, named as huggingface_hub names them."""


def fetch_everywhere(
    spec: WeightsSpec, known: Manifest | None, wrong: Mapping[str, Sequence[str]]
) -> Manifest:
    """Fetch what is missing on the hosts that ``wrong`` names; return the files as the Hub says.

    ``wrong`` has by host what is there and has to be fetched again, ``known`` the files to fetch.
    Raises GateFailed when a host does not answer, or the Hub does not give a file.
    """
    folders = [folder for folder in spec.folders if folder.host in wrong]
    work = [
        Work(
            folder,
            fetch_command(folder, spec.image),
            _question(spec, known, wrong[folder.host]),
            "fetch the model's files",
        )
        for folder in folders
    ]
    first, *others = answers(work)
    for folder, other in zip(folders[1:], others, strict=True):
        if other != first:
            raise GateFailed(
                f"the Hub says one thing to {folders[0].host} and another to {folder.host}"
            )
    files = {name: FileEntry(**entry) for name, entry in first.items()}
    return Manifest(spec.model, spec.revision, files)


def _question(spec: WeightsSpec, known: Manifest | None, wrong: Sequence[str]) -> str:
    declared = spec.hub.endpoint if spec.hub else None
    asked = {
        "model": spec.model,
        "revision": spec.revision,
        "endpoint": declared or os.environ.get(ENDPOINT) or None,
        "token": os.environ.get(TOKEN) or None,
        "names": sorted(known.files) if known else None,
        "wrong": list(wrong),
    }
    return json.dumps(asked) + "\n"


def fetch_command(folder: WeightsFolder, image: str) -> str:
    """Return the shell command that fetches into a host's volume, by the host's own network.

    Without the look at the volume first, Docker would make one that nobody declared.
    """
    options = ("--rm", "--interactive", "--pull=never", "--network=host", "--log-driver=none")
    volume = f"--volume={folder.volume}:{FOLDER}"
    program = ("--user=0", "--entrypoint=python3", image, "-c", source("fetch_model.py"), FOLDER)
    run = shlex.join(("docker", "run", *options, volume, *program))
    return f"docker volume inspect {shlex.quote(folder.volume)} >/dev/null && exec {run}"
