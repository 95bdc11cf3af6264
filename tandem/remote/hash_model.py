"""Hash every file of a model's folder, with all cores; what has not changed is not read again.

Runs inside a container: ``python3 -c PROGRAM FOLDER CACHE``. Standard input is one line of JSON,
``{"sizes": {name: bytes} or null, "anew": bool}``, and stays open: when it ends, whoever asked is
gone, and the program ends. Where names or sizes are not those asked for, nothing is hashed, so that
a truncated file is told in a second. Standard output is one line of JSON, see ``look``.

All files in the folder and below count, by their path, but for hidden ones (``.cache``,
``.gitattributes``) and lock files (``*.lock``). Links to files are followed, links to folders not.
Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

BUFFER_BYTES = 1024**2
REPORT_SECONDS = 10.0
SETTLED_SECONDS = 2.0
"""How old a change has to be: a later one could have the same time, where clocks are coarse."""
_GIB = 1024**3
_INDEXES = (".safetensors.index.json", ".bin.index.json")

Stamp = tuple[int, int, int, int]
"""Size, mtime, ctime and inode: whoever writes a file can set mtime back, but not ctime."""


def stamp(found: os.stat_result) -> Stamp:
    """Return what a file is known by while it does not change."""
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def list_files(folder: Path) -> tuple[dict[str, os.stat_result], dict[str, str]]:
    """Return the files that count, and in words what is wrong with others; by path, sorted."""
    files: dict[str, os.stat_result] = {}
    problems: dict[str, str] = {}

    def note(problem: OSError) -> None:
        problems[os.path.relpath(problem.filename, folder)] = str(problem.strerror)

    for place, folders, names in os.walk(folder, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if name.startswith(".") or name.endswith(".lock"):
                continue
            path = Path(place, name)
            try:
                found = path.stat()
            except OSError as problem:
                note(problem)
                continue
            if stat.S_ISREG(found.st_mode):
                files[str(path.relative_to(folder))] = found
            else:
                problems[str(path.relative_to(folder))] = "it is no file"
    return dict(sorted(files.items())), problems


def downloads(folder: Path) -> dict[str, tuple[str, str]]:
    """Return by path the commit and the ETag that huggingface_hub noted when it downloaded.

    The ETag of a large file is its SHA-256 (huggingface_hub/_local_folder.py, 0.24.7 to 2.4.0).
    """
    notes = folder / ".cache" / "huggingface" / "download"
    found = {}
    for path in sorted(notes.rglob("*.metadata")):
        lines = path.read_text(encoding="utf-8", errors="replace").split()
        if len(lines) >= 2:
            found[str(path.relative_to(notes)).removesuffix(".metadata")] = (lines[0], lines[1])
    return found


def contradictions(folder: Path, sizes: dict[str, int]) -> dict[str, str]:
    """Return by path what an index or a file's own header says against the files that are there.

    Where no manifest is known yet, this is what tells an interrupted download.
    """
    problems: dict[str, str] = {}
    for index in (name for name in sizes if name.endswith(_INDEXES)):
        try:
            said = json.loads((folder / index).read_text(encoding="utf-8"))
            names = {str(Path(index).with_name(shard)) for shard in said["weight_map"].values()}
        except (ValueError, LookupError, TypeError, AttributeError):
            problems[index] = "it is no index of shards"
            continue
        missing = f"{index} names it, and it is not there"
        problems |= dict.fromkeys(sorted(names - sizes.keys()), missing)
    for name, size in sizes.items():
        if name.endswith(".safetensors") and (words := _wrong_header(folder / name, size)):
            problems[name] = words
    return problems


def _wrong_header(path: Path, size: int) -> str:
    """Return what is wrong with a safetensors file's length, by its header.

    Eight bytes have the header's length; each tensor's offsets count from the header's end
    (safetensors, README, "Format").
    """
    with path.open("rb") as file:
        start = file.read(8)
        if start == b"version ":
            return "it is a Git LFS pointer, not the file: `git lfs pull`"
        length = int.from_bytes(start, "little")
        try:
            header = json.loads(file.read(length)) if length < size else None
        except ValueError:
            header = None
    if not isinstance(header, dict):
        return "it has no header of safetensors"
    ends = [entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__"]
    said = 8 + length + max(ends, default=0)
    return "" if said == size else f"it has {size} bytes, and its header says {said}"


class Known:
    """The hashes of earlier runs, in a file beside which nothing else has to be."""

    def __init__(self, folder: Path, *, anew: bool) -> None:
        self._path = folder / "hashes.json"
        self._entries: dict[str, list[object]] = {} if anew else self._read()

    def get(self, name: str, now: Stamp) -> str | None:
        """Return the hash of a file that has not changed since, or None."""
        *before, digest = self._entries.get(name, [None])
        return str(digest) if tuple(before) == now else None

    def put(self, name: str, now: Stamp, digest: str) -> None:
        """Take a hash in."""
        self._entries[name] = [*now, digest]

    def save(self) -> None:
        """Write all hashes; a reader sees the old file or the new one, never a part."""
        # Two at work on one folder must not share it.
        unfinished = self._path.with_suffix(f".{time.time_ns()}")
        unfinished.write_text(json.dumps(dict(self._entries)), encoding="utf-8")
        unfinished.replace(self._path)

    def _read(self) -> dict[str, list[object]]:
        try:
            entries: dict[str, list[object]] = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return entries


class Progress:
    """Bytes read so far, and a line about them every few seconds, on standard error."""

    def __init__(self, total: int, known: Known) -> None:
        self._total = total
        self._known = known
        self._started = time.monotonic()
        self._done = 0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._reporter = threading.Thread(target=self._report)

    def __enter__(self) -> Progress:
        self._reporter.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._reporter.join()
        self._known.save()

    def add(self, size: int) -> None:
        """Count bytes that were read."""
        with self._lock:
            self._done += size

    def _report(self) -> None:
        while not self._over.wait(REPORT_SECONDS):
            # What is hashed already is kept even when somebody ends the program.
            with suppress(OSError):  # told at the end
                self._known.save()
            rate = self._done / (time.monotonic() - self._started)
            left = f"{(self._total - self._done) / rate:.0f} s left" if rate else "waiting"
            done = f"{self._done / _GIB:.1f} of {self._total / _GIB:.1f} GiB hashed"
            print(f"{done}, {rate / _GIB:.2f} GiB/s, {left}", file=sys.stderr, flush=True)


def hash_file(path: Path, progress: Progress) -> tuple[str, Stamp]:
    """Return the SHA-256 of a file and what it is known by.

    Raises OSError when it can't be read, or changes meanwhile.
    """
    digest = hashlib.sha256()
    buffer = bytearray(BUFFER_BYTES)
    view = memoryview(buffer)
    with path.open("rb", buffering=0) as file:
        before = stamp(os.fstat(file.fileno()))
        while size := file.readinto(buffer):
            digest.update(view[:size])
            progress.add(size)
        if stamp(os.fstat(file.fileno())) != before:
            raise OSError(0, "it changes while it is read")
    return digest.hexdigest(), before


def look(
    folder: Path, cache: Path, sizes: dict[str, int] | None = None, *, anew: bool = False
) -> dict[str, object]:
    """Return sizes, hashes, problems and downloads of a folder's files, each by path.

    There are no hashes where ``sizes`` are given and others are found. ``anew`` hashes what has
    not changed, too. Also: ``read``, how many bytes were hashed and not known before.
    """
    files, problems = list_files(folder)
    found = {name: entry.st_size for name, entry in files.items()}
    answer: dict[str, object] = {"sizes": found, "problems": problems, "read": 0}
    answer |= {"hashes": {}, "downloads": downloads(folder)}
    if sizes is None:
        problems |= contradictions(folder, found)
    if problems or (sizes is not None and sizes != found):
        return answer
    known = Known(cache, anew=anew)
    hashes = {name: known.get(name, stamp(entry)) for name, entry in files.items()}
    # The largest ones first: a large one that comes last would keep a single core busy.
    to_read = sorted(
        (name for name in files if hashes[name] is None), key=lambda name: -found[name]
    )
    settled = time.time_ns() - int(SETTLED_SECONDS * 10**9)
    total = sum(found[name] for name in to_read)

    def hash_one(name: str) -> None:
        try:
            hashes[name], now = hash_file(folder / name, progress)
        except OSError as problem:
            problems[name] = str(problem.strerror)
            return
        if max(now[1], now[2]) < settled:
            known.put(name, now, str(hashes[name]))

    with Progress(total, known) as progress, ThreadPoolExecutor(_cores()) as pool:
        list(pool.map(hash_one, to_read))
    return answer | {"hashes": hashes, "read": total}


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _end_with_input() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


def main(folder: str, cache: str) -> None:
    """Read the question, print the answer."""
    question = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    os.nice(5)  # a server may be at work beside
    try:
        answer = look(Path(folder), Path(cache), question["sizes"], anew=question["anew"])
    except OSError as problem:  # such as a full disk
        sys.exit(str(problem))
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
