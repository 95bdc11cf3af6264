"""A stand-in for the Hub: it serves files over HTTP as the Hub does, and breaks where it is told.

What it has of the Hub: the list of a model's files with sizes and hashes, large files by SHA-256
and small ones by Git's hash, ranges, names of revisions, tokens, and the codes of its refusals.
It keeps count of the bytes that it gave.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from lab import Lab
from lab.model import folder_of
from tandem.remote.fetch_model import git_hash

COMMIT = "c" * 40
"""The only commit of every model, which ``main`` stands for."""


def shard(**sizes: int) -> bytes:
    """Return a safetensors file with so many bytes for each tensor."""
    header, end = {}, 0
    for name, size in sizes.items():
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


@dataclass
class StandInHub:
    """What it has and how it behaves; a test changes both while it serves."""

    address: str
    models: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Files by name, by model."""
    token: str | None = None
    """What has to be sent for a file; None: everybody may have it."""
    cut: dict[str, int] = field(default_factory=dict)
    """At which byte of a file the connection to a client ends, and the client has no more of it."""
    broken: set[tuple[str, str]] = field(default_factory=set)
    """Clients and files for which that has happened."""
    spoiled: dict[str, bytes] = field(default_factory=dict)
    """What is given, once, in the place of a file."""
    given: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Bytes that each client was given of each file."""
    watch: Callable[[], object] = lambda: None
    """Called before a file is given."""

    def heal(self) -> None:
        """Break nothing any more, and forget what was given."""
        self.cut.clear()
        self.broken.clear()
        self.given.clear()

    def listing(self, model: str) -> dict[str, Any]:
        """Return what the Hub's API says of a model."""
        files = self.models[model].items()
        return {"id": model, "sha": COMMIT, "siblings": [_sibling(*file) for file in files]}


def _sibling(name: str, content: bytes) -> dict[str, Any]:
    size, digest = len(content), hashlib.sha256(content).hexdigest()
    about = {"rfilename": name, "size": size, "blobId": git_hash(content)}
    if not name.endswith((".safetensors", ".pth")):
        return about
    pointer = git_hash(digest.encode())
    return about | {"blobId": pointer, "lfs": {"sha256": digest, "size": size, "pointerSize": 134}}


class _Handler(BaseHTTPRequestHandler):
    hub: StandInHub

    def do_GET(self) -> None:
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        if parts[:2] == ["api", "models"]:
            # /api/models/org/model/revision/REVISION
            self._list("/".join(parts[2:4]), (parts[5:] or ["main"])[0])
        else:
            # /org/model/resolve/REVISION/FILE
            self._give("/".join(parts[:2]), "/".join(parts[4:]))

    do_HEAD = do_GET

    def _list(self, model: str, revision: str) -> None:
        if model not in self.hub.models:
            return self._answer(401, code="RepoNotFound")
        if revision not in {"main", COMMIT}:
            return self._answer(404, code="RevisionNotFound")
        return self._answer(200, json.dumps(self.hub.listing(model)).encode())

    def _give(self, model: str, name: str) -> None:
        hub = self.hub
        if model not in hub.models:
            return self._answer(401, code="RepoNotFound")
        if hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
            code = "GatedRepo"
            return self._answer(403 if self.headers.get("Authorization") else 401, code=code)
        if name not in hub.models[model]:
            return self._answer(404, code="EntryNotFound")
        content = hub.models[model][name]
        if self.command == "GET":
            content = hub.spoiled.pop(name, content)
        first, _, last = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        start, end = int(first or 0), int(last or len(content) - 1) + 1
        until = min(end, hub.cut.get(name, end))
        who = (self.client_address[0], name)
        if who in hub.broken:
            return self._answer(500)
        if self.command == "GET":
            hub.watch()
            hub.given[who] += until - start
            if until < end:
                hub.broken.add(who)
        self._answer(206 if first else 200, content[start:end], upto=until - start)

    def _answer(
        self, status: int, content: bytes = b"", *, code: str = "", upto: int | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        if code:
            self.send_header("X-Error-Code", code)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content[:upto])

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def stand_in_hub(address: str = "127.0.0.1") -> Iterator[StandInHub]:
    """Serve at a free port of an address of this machine."""

    class Handler(_Handler):
        pass

    with ThreadingHTTPServer((address, 0), Handler) as server:
        Handler.hub = hub = StandInHub(f"http://{address}:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def hub_of_the_lab(lab: Lab, home: Path) -> Iterator[StandInHub]:
    """Serve the lab's model to its hosts; ``home`` is for what the client here keeps."""
    with pytest.MonkeyPatch.context() as patch, stand_in_hub(lab.site.gateway) as hub:
        for name in ("HF_TOKEN", "HF_ENDPOINT"):
            patch.delenv(name, raising=False)
        patch.setenv("NO_PROXY", f"{lab.site.gateway},{os.environ.get('NO_PROXY', '')}")
        patch.setenv("HF_HOME", str(home))
        files = [path for path in folder_of("qwen3").rglob("*") if path.is_file()]
        of_model = {str(file.relative_to(folder_of("qwen3"))): file.read_bytes() for file in files}
        hub.models["tandem/tiny-qwen3"] = of_model
        yield hub
