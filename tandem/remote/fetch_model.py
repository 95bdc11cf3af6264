"""Fetch a model's files from the Hub into a folder; what is there is not fetched again.

Runs inside a container: ``python3 -c PROGRAM FOLDER``. Standard input is one line of JSON, see
``Question``, and stays open: when it ends, whoever asked is gone, and the program ends. Standard
output is one line of JSON: ``{name: {"size": bytes, "sha256": hash}}`` of all files, as the Hub has
them; the same is kept in the folder, beside what is being fetched, under ``.tandem``.

The folder is the program's own: what is not of the commit is removed. huggingface_hub 0.24.7 to
2.4.0 lists, asks again after a broken connection, and reads on where it broke. It does not so
across two runs (from 2.0 on it throws away what it has of a file), and its xet transfer never
does. So the parts of files are kept here, and files come by plain HTTP.
Standard library and huggingface_hub only.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path

REPORT_SECONDS = 10.0
AT_ONCE = 8
"""Files that are fetched at the same time, as huggingface_hub's own snapshot_download does."""
_OWN = ".tandem"
_GIB = 1024**3
_WEIGHTS = (
    *(".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".ggml", ".h5", ".msgpack"),
    *(".onnx", ".onnx_data", ".ot", ".tflite", ".npz", ".nemo"),
)


class Refused(Exception):
    """The files can't be fetched; the text says why, in one line."""


@dataclass(frozen=True)
class Question:
    """What is wanted."""

    model: str
    revision: str
    """A commit."""
    endpoint: str | None
    """The Hub's address; None is HF_ENDPOINT in the image, or the public one."""
    token: str | None
    names: list[str] | None
    """The files, where a manifest names them; None is those that are ``needed``."""
    wrong: list[str]
    """Files that are there and have to be fetched again."""


@dataclass(frozen=True)
class Entry:
    """A file as the Hub has it; size in bytes."""

    size: int
    sha256: str | None
    """Only of large files, which the Hub keeps outside of Git."""
    blob: str
    """Git's hash of the file, or of the pointer that stands for a large one."""

    @property
    def hash(self) -> str:
        """Return what tells this content from others."""
        return self.sha256 or self.blob


def needed(names: list[str]) -> list[str]:
    """Return the files that vLLM may read, of all that a model has on the Hub.

    Left out are hidden files and locks, weights below the top folder (``original/``), and beside
    safetensors all other forms of weights, ``consolidated*.safetensors`` (the publisher's own form
    of the same) among them.
    """
    top = [name for name in names if name.endswith(".safetensors") and "/" not in name]
    usual = [name for name in top if not name.startswith("consolidated")]
    chosen = []
    for name in names:
        hidden = any(part.startswith(".") for part in name.split("/")) or name.endswith(".lock")
        unused = name.endswith(_WEIGHTS) and ("/" in name or (top and name not in (usual or top)))
        if not hidden and not unused:
            chosen.append(name)
    return chosen


def git_hash(content: bytes) -> str:
    """Return Git's hash of a file (Git, "Git Internals - Git Objects")."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_right(path: Path, entry: Entry) -> bool:
    """Tell whether a file has the Hub's size, and a small one the Hub's hash.

    Whoever compares with the manifest hashes the large ones.
    """
    if not path.is_file() or _size(path) != entry.size:
        return False
    return entry.sha256 is not None or git_hash(path.read_bytes()) == entry.blob


class Folder:
    """The model's folder, with the parts of files that are still to come."""

    def __init__(self, path: Path, entries: dict[str, Entry]) -> None:
        self.path = path
        self.entries = entries
        self._parts = path / _OWN / "parts"
        self._parts.mkdir(parents=True, exist_ok=True)

    def file(self, name: str) -> Path:
        """Return where a file is once it is whole."""
        return self.path / name

    def part(self, name: str) -> Path:
        """Return where the part of a file is."""
        return self._parts / f"{name.replace('/', '--')}.{self.entries[name].hash[:12]}"

    def clear(self, wrong: list[str]) -> None:
        """Remove what is wrong, and what is of no file of the commit."""
        parts = {self.part(name) for name in self.entries}
        for path in self._parts.iterdir():
            if path not in parts:
                path.unlink()
        kept = {self.file(name) for name in self.entries} - {self.file(name) for name in wrong}
        for place, folders, names in os.walk(self.path):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for path in (Path(place, name) for name in names):
                if path not in kept and not path.name.startswith("."):
                    path.unlink()

    @property
    def done(self) -> int:
        """Return how many bytes are there."""
        places = ((self.file(name), self.part(name)) for name in self.entries)
        return sum(_size(path) for pair in places for path in pair)

    def keep(self, answer: dict[str, object]) -> None:
        """Write the manifest beside the files."""
        text = json.dumps(answer, indent=1, sort_keys=True) + "\n"
        unfinished = self.path / _OWN / "manifest.unfinished"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(self.path / _OWN / "manifest.json")


class Hub:
    """The model on the Hub, through huggingface_hub as the image has it."""

    def __init__(self, question: Question) -> None:
        # Read by huggingface_hub when it is imported; an image may have the contrary of each.
        os.environ |= {"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0"}
        os.environ |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_ENABLE_HF_TRANSFER": "0"}
        os.environ |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        if question.endpoint:
            os.environ["HF_ENDPOINT"] = question.endpoint
        try:
            from huggingface_hub import HfApi, constants, hf_hub_url
            from huggingface_hub.file_download import http_get
        except ImportError:
            raise Refused("the image has no huggingface_hub") from None
        self._question = question
        self.endpoint = constants.ENDPOINT
        self._api = HfApi(endpoint=self.endpoint, token=question.token or False)
        self._url = partial(
            hf_hub_url, question.model, revision=question.revision, endpoint=self.endpoint
        )
        # Compressed on the way, a part would not have the length that the rest is asked by.
        headers = {"accept-encoding": "identity"}
        if question.token:
            headers["authorization"] = f"Bearer {question.token}"
        self._get = partial(http_get, headers=headers)

    def entries(self) -> dict[str, Entry]:
        """Return the files that are wanted, by name.

        Raises Refused when the Hub does not tell, or lacks one.
        """
        wanted = self._question
        try:
            info = self._api.model_info(
                wanted.model, revision=wanted.revision, files_metadata=True, timeout=60
            )
        except Exception as problem:  # of huggingface_hub and its HTTP client, without one root
            raise Refused(self.refusal(problem)) from None
        files = {
            file.rfilename: Entry(
                file.size or 0, file.lfs["sha256"] if file.lfs else None, file.blob_id or ""
            )
            for file in info.siblings or ()
        }
        names = needed(sorted(files)) if wanted.names is None else wanted.names
        if lacking := [name for name in names if name not in files]:
            raise Refused(
                f"{self.endpoint} has no {lacking[0]} of {wanted.model} at commit "
                f"{wanted.revision}, and the manifest names it"
            )
        return {name: files[name] for name in names}

    def fetch(self, name: str, entry: Entry, part: Path) -> None:
        """Fetch what is missing of a file.

        Raises Refused when it does not come whole, or is another one than was announced.
        """
        part.touch()
        if _size(part) > entry.size:
            os.truncate(part, 0)
        if _size(part) < entry.size:
            try:
                # Not opened to append: where a Hub has no ranges, it is written from the start.
                with part.open("r+b") as file:
                    start = file.seek(0, os.SEEK_END)
                    self._get(self._url(name), file, resume_size=start, expected_size=entry.size)
            except Exception as problem:
                raise Refused(f"{name}: {self.refusal(problem)}") from None
        if not is_right(part, entry):
            part.unlink()
            raise Refused(f"{name}: {self.endpoint} gave another file than it had announced")

    def refusal(self, problem: Exception) -> str:
        """Return in one line why the Hub did not give what was asked for."""
        words = str(problem).strip().partition("\n")[0] or type(problem).__name__
        status = getattr(getattr(problem, "response", None), "status_code", None)
        model = self._question.model
        if status == 404:
            return f"{self.endpoint} has no {model} at commit {self._question.revision}"
        if status not in {401, 403}:
            return f"{self.endpoint}: {words}"
        if self._question.token is None:
            way = "where `pulumi up` runs, set the variable HF_TOKEN to a token that may read it"
        else:
            way = (
                "the token in HF_TOKEN may not read it: "
                f"accept the model's terms at {self.endpoint}/{model}, or take another token"
            )
        return f"{self.endpoint} does not let {model} be read, if it has it ({status}); {way}"


class Progress:
    """A line every few seconds about how far it is, on standard error."""

    def __init__(self, folder: Folder, total: int) -> None:
        self._folder = folder
        self._total = total
        self._before = folder.done
        self._started = time.monotonic()
        self._over = threading.Event()
        threading.Thread(target=self._report, daemon=True).start()

    def end(self) -> None:
        """Say no more."""
        self._over.set()

    def _report(self) -> None:
        while not self._over.wait(REPORT_SECONDS):
            done = self._folder.done
            rate = (done - self._before) / (time.monotonic() - self._started)
            left = f"{(self._total - done) / rate:.0f} s left" if rate > 0 else "waiting"
            said = f"{done / _GIB:.1f} of {self._total / _GIB:.1f} GiB fetched"
            print(f"{said}, {rate / _GIB:.3f} GiB/s, {left}", file=sys.stderr, flush=True)


def fetch_all(question: Question, path: Path) -> dict[str, object]:
    """Fetch what is missing or wrong; return what every file has to be.

    Raises Refused when the Hub does not give it, or the disk has no room.
    """
    hub = Hub(question)
    entries = hub.entries()
    folder = Folder(path, entries)
    folder.clear(question.wrong)
    missing = [name for name in entries if not is_right(folder.file(name), entries[name])]
    for name in missing:
        folder.file(name).unlink(missing_ok=True)
    total = sum(entry.size for entry in entries.values())
    lacking, free = total - folder.done, shutil.disk_usage(path).free
    if lacking > free:
        raise Refused(f"{lacking / _GIB:.2f} GiB are to come, {free / _GIB:.2f} GiB are free")

    def fetch_one(name: str) -> None:
        hub.fetch(name, entries[name], folder.part(name))
        folder.file(name).parent.mkdir(parents=True, exist_ok=True)
        folder.part(name).replace(folder.file(name))

    progress = Progress(folder, total)
    # No `with`, which would wait for all: what fails ends the program, and the others' parts stay.
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        largest_first = sorted(missing, key=lambda name: -entries[name].size)
        files = [pool.submit(fetch_one, name) for name in largest_first]
        for file in wait(files, return_when=FIRST_EXCEPTION).done:
            file.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        progress.end()
    if missing:
        say = f"fetched {len(missing)} of {len(entries)} files, {lacking / _GIB:.2f} GiB"
        print(f"{say}, from {hub.endpoint}", file=sys.stderr, flush=True)
    answer: dict[str, object] = {
        name: {"size": entry.size, "sha256": entry.sha256 or _sha256(folder.file(name))}
        for name, entry in entries.items()
    }
    about = {"model": question.model, "revision": question.revision}
    folder.keep({**about, "files": answer})
    return answer


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # or it is being moved to its place
        return 0


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def main(folder: str) -> None:
    """Read the question, print the answer."""
    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    os.nice(5)  # a server may be at work beside
    try:
        answer = fetch_all(Question(**asked), Path(folder))
    except (Refused, OSError) as problem:
        print(problem, file=sys.stderr, flush=True)
        os._exit(1)  # the files that are still coming are not waited for
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
