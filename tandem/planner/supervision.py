"""What keeps a container up, and when it is left alone: the programs around its command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.specs import HealthCheck, Upload
from tandem.remote import source
from tandem.remote.liveness import CHECK_SECONDS, HEALTHY, LONGEST_CHECK_SECONDS

if TYPE_CHECKING:
    from tandem.settings import Settings

LIVENESS_PROGRAM = "/tandem/liveness.py"
SUPERVISE_PROGRAM = "/tandem/supervise.py"


def supervised(settings: Settings, *command: str, after: str | None = None) -> tuple[str, ...]:
    """Return the command that counts its starts; the first one waits for ``after``, if given."""
    restarts = settings.restarts
    options = (f"--limit={restarts.limit}", f"--window={restarts.window}")
    waits = (f"--after={after}",) if after else ()
    return ("python3", SUPERVISE_PROGRAM, *options, *waits, "--", *command)


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


def uploads(*programs: str) -> tuple[Upload, ...]:
    """Return programs of ``tandem/remote`` as files of a container, by their path there."""
    return tuple(Upload(path=path, content=source(path.rpartition("/")[2])) for path in programs)


def health_check(settings: Settings) -> HealthCheck:
    """Return Docker's look at what the watch beside the server wrote: a shell and `date`."""
    oldest = int(CHECK_SECONDS + LONGEST_CHECK_SECONDS)
    age = "$(($(date +%s) - seen))"
    return HealthCheck(
        command=f"read -r seen < {HEALTHY} && test {age} -le {oldest}",
        interval=int(CHECK_SECONDS),
        timeout=10,
        retries=2,
        start_period=settings.serve.ready_timeout,
    )
