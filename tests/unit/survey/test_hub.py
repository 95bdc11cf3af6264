"""A model on a Hub: a stand-in that serves files as the Hub does, with ranges and error codes."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub import constants

from tandem.errors import HubFailed
from tandem.survey.hub import hub_model

COMMIT = "c" * 40


def shard(**sizes: int) -> bytes:
    """Return a safetensors file with so many bytes for each tensor."""
    header, end = {}, 0
    for name, size in sizes.items():
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


WHOLE = {"config.json": b'{"hidden_size": 64}', "model.safetensors": shard(a=30, b=12)}
SHARDS = {
    "config.json": b"{}",
    "model.safetensors.index.json": json.dumps(
        {"metadata": {}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    ).encode(),
    "one.safetensors": shard(a=1000),
    "two.safetensors": shard(b=24),
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, dict[str, bytes]]]:
    """Return what the stand-in has: files by model."""
    models: dict[str, dict[str, bytes]] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # /org/model/resolve/REVISION/FILE
            parts = self.path.lstrip("/").split("/")
            known = models.get("/".join(parts[:2]))
            if known is None:
                return self._answer(401, b"", "RepoNotFound")
            content = known.get(parts[-1])
            if content is None:
                return self._answer(404, b"", "EntryNotFound")
            wanted = self.headers.get("Range", "").removeprefix("bytes=")
            if wanted:
                first, _, last = wanted.partition("-")
                return self._answer(206, content[int(first) : int(last) + 1])
            return self._answer(200, content)

        do_HEAD = do_GET

        def _answer(self, status: int, content: bytes, code: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hash(content):x}"')
            self.send_header("X-Repo-Commit", COMMIT)
            if code:
                self.send_header("X-Error-Code", code)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", address)
        template = address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield models
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("files", "size"), [(WHOLE, 42), (SHARDS, 1024)], ids=["one", "shards"])
def test_config_and_bytes_of_all_tensors_are_read(
    hub: dict[str, dict[str, bytes]], files: dict[str, bytes], size: int
) -> None:
    hub["org/model"] = files
    found = hub_model("org/model", COMMIT)
    assert found.weights_bytes == size
    assert found.config == json.loads(files["config.json"])


@pytest.mark.parametrize("files", [None, {"config.json": b"{}"}], ids=["no model", "no weights"])
def test_what_the_hub_does_not_have_is_told_in_one_line(
    hub: dict[str, dict[str, bytes]], files: dict[str, bytes] | None
) -> None:
    if files is not None:
        hub["org/model"] = files
    with pytest.raises(HubFailed) as failed:
        hub_model("org/model", COMMIT)
    assert "does not tell of org/model: " in str(failed.value)
    assert len(str(failed.value).splitlines()) == 1
