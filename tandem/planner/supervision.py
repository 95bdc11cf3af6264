"""What keeps a container up, and when it is left alone: the programs around its command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.specs import HealthCheck, Upload
from tandem.remote import source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tandem.settings import Settings

LIVENESS_PROGRAM = "/tandem/liveness.py"
SUPERVISE_PROGRAM = "/tandem/supervise.py"
GENERATION_PROGRAM = "/tandem/generation.py"
HEALTHY = "/dev/shm/tandem-healthy"
"""Where the watch writes the time of the last check that was well; from liveness.py, as is the next
one. Importing it would cost every plan the time that Python's HTTP client takes to load."""
OLDEST_SECONDS = 50
"""Two checks, the last of them with nothing but silence."""


def supervised(
    settings: Settings, *command: str, after: str | None = None, in_place: bool = False
) -> tuple[str, ...]:
    """Return the command that counts its starts; the first one waits for ``after``, if given.

    In place: it starts again in the same container, whose namespaces others share.
    """
    restarts = settings.restarts
    options = (f"--limit={restarts.limit}", f"--window={restarts.window}")
    waits = (f"--after={after}",) if after else ()
    stays = ("--in-place",) if in_place else ()
    return ("python3", SUPERVISE_PROGRAM, *options, *waits, *stays, "--", *command)


def watched(
    settings: Settings, url: str, key_file: str | None, command: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the server's command with a watch that ends it when it is stalled."""
    options = [f"--url={url}", f"--timeout={settings.serve.stall_timeout}"]
    # A server that was put to sleep generates nothing, and is well.
    if "--enable-sleep-mode" not in settings.serve.args:
        options.append(f"--model={settings.model.name}")
    if key_file:
        options.append(f"--key={key_file}")
    return ("python3", LIVENESS_PROGRAM, *options, "--", *command)


def in_generation(group: str, at: str, hosts: Sequence[str], number: int) -> tuple[str, ...]:
    """Return the words before a command that runs only together with those of the other hosts.

    The first of ``hosts``, which are addresses, listens ``at`` an address and port, and the others
    ask there which start of the group it is. ``number`` is the place among them.
    """
    options = (f"--group={group}", f"--at={at}", f"--hosts={','.join(hosts)}", f"--number={number}")
    return ("python3", GENERATION_PROGRAM, *options, "--")


def uploads(*programs: str) -> tuple[Upload, ...]:
    """Return programs of ``tandem/remote`` as files of a container, by their path there."""
    return tuple(Upload(path=path, content=source(path.rpartition("/")[2])) for path in programs)


def health_check(settings: Settings) -> HealthCheck:
    """Return Docker's look at what the watch beside the server wrote: a shell and `date`."""
    age = "$(($(date +%s) - seen))"
    return HealthCheck(
        command=f"read -r seen < {HEALTHY} && test {age} -le {OLDEST_SECONDS}",
        interval=15,
        timeout=10,
        retries=2,
        start_period=settings.serve.ready_timeout,
    )
