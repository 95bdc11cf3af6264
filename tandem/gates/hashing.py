"""What is in the model's folder of every host: ``tandem.remote.hash_model`` run on all at once."""

from __future__ import annotations

import json
import shlex
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING

from tandem.errors import GateFailed
from tandem.gates.containers import say
from tandem.gates.manifest import FileEntry
from tandem.remote import source
from tandem.ssh import UNREACHABLE

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping, Sequence

    from tandem.gates.spec import WeightsFolder

POLL_SECONDS = 1
SILENCE_SECONDS = 300
"""How long a host may say nothing: the program tells its progress every ten seconds."""
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
    looks = [_Look(folder, image, question) for folder in folders]
    try:
        for look in looks:
            look.wait()
    except BaseException:
        for look in looks:
            look.kill()
        raise
    failures = [look.failure for look in looks if look.failure]
    if failures:
        raise GateFailed("\n".join(failures))
    return [look.found for look in looks]


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


class _Look:
    """One host at work."""

    def __init__(self, folder: WeightsFolder, image: str, question: str) -> None:
        self._host = folder.host
        self._process = folder.target.start("sh", "-c", hash_command(folder, image))
        self._last = deque[str](maxlen=1)
        self._answer = ""
        self._heard = time.monotonic()
        # Threads: a pipe that nobody reads while another is read would stop the program.
        self._threads = [Thread(target=self._tell), Thread(target=self._listen)]
        for thread in self._threads:
            thread.start()
        _send(self._process, question)

    def wait(self) -> None:
        """Return when the host has answered.

        Raises GateFailed when it says nothing for too long: Docker may hang.
        """
        for thread in self._threads:
            while thread.is_alive():
                thread.join(POLL_SECONDS)
                if time.monotonic() - self._heard > SILENCE_SECONDS:
                    raise GateFailed(f"{self._host} has said nothing for {SILENCE_SECONDS} s")
        self._close()

    def kill(self) -> None:
        """End the work on the host, too: its standard input ends."""
        self._process.kill()
        for thread in self._threads:
            thread.join()
        self._close()

    def _close(self) -> None:
        # It may have ended without a look at its input; leaving closes the pipes and waits.
        with suppress(BrokenPipeError), self._process:
            pass

    @property
    def failure(self) -> str:
        """Return why the host has no answer; empty when it has one."""
        code, words = self._process.returncode, self._last[0] if self._last else "no reason given"
        if code == UNREACHABLE:
            return f"host {self._host} does not answer: {words}"
        return f"{self._host} can't hash the model's files: {words}" if code else ""

    @property
    def found(self) -> Found:
        """Return what the host answered."""
        return Found(self._host, **json.loads(self._answer))

    def _tell(self) -> None:
        for line in self._process.stderr or ():
            self._heard = time.monotonic()
            self._last.append(line.strip())
            say(f"{self._host}: {line.rstrip()}")

    def _listen(self) -> None:
        self._answer = self._process.stdout.read() if self._process.stdout else ""


def _send(process: subprocess.Popen[str], line: str) -> None:
    # One that has ended has said why.
    with suppress(BrokenPipeError):
        if process.stdin:
            process.stdin.write(line)
            process.stdin.flush()
