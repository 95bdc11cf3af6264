"""Run a command, and stay down when its container has started again too often.

Runs in every container: ``python3 supervise.py --limit=N --window=SECONDS -- command…``. Docker's
policy is ``on-failure``: it starts again what ended with another status than 0, also after a reboot
(moby, restartmanager/restartmanager.go), and leaves alone what ended with 0. So this program ends
with 0 only where it gives up. The restarts are kept in the container's own file system: they
outlive a reboot, and a new container has none. With ``--after=ADDRESS:PORT`` a start waits first
until somebody listens there. With ``--in-place`` the command starts again in the same container:
where others share its namespaces, Docker would give them up if they came back before it does
(moby, daemon/monitor.go: a restart that fails is the last one). Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

CONNECT_SECONDS = 5
POLL_SECONDS = 1
FOLDER = Path("/var/lib/tandem")
RECORD = "restarts.json"
REASON = "reason"
"""Why another program of Tandem ended the command, where one did."""


def too_many(restarts: list[float], now: float, limit: int, window: float) -> bool:
    """Tell whether more than ``limit`` restarts are within ``window`` seconds of ``now``."""
    # Both ways: a clock that was wrong at a start may have been ahead.
    return sum(abs(now - restart) <= window for restart in restarts) > limit


def last_words(record: dict[str, Any], limit: int, window: float) -> str:
    """Return the line that says why the container stays down, and the way on."""
    times = [time.strftime("%H:%M:%S", time.gmtime(start)) for start in record["restarts"][:limit]]
    return (
        f"stays down after {limit} restarts within {window / 60:g} min ({', '.join(times)} UTC); "
        f"last end: {record['end']}. `pulumi up --refresh` replaces this container, "
        "`docker start` tries again"
    )


def load(path: Path) -> dict[str, Any] | None:
    """Return what is recorded of the container's starts; None at the first one."""
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record


def save(path: Path, record: dict[str, Any]) -> None:
    """Write the record so that it is whole after a power cut, or say why it can't be written.

    A full disk, or an image with a user of its own, is no reason not to run the command.
    """
    draft = path.with_suffix(".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8") as file:
            json.dump(record, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as problem:
        say(f"restarts are not counted: {problem}")


def say(words: str) -> None:
    """Write one line to the container's log."""
    print(f"tandem: {words}", file=sys.stderr, flush=True)


def end_others(init: Path = Path("/proc/1/cmdline")) -> bool:
    """Kill what is left in the container, and in those that share its processes.

    Return False, and kill nothing, where PID 1 is not Docker's: then this is no container.
    """
    if b"docker-init" not in init.read_bytes():
        return False
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # all but PID 1 and this process
    return True


def run(command: list[str]) -> tuple[int, str, bool]:
    """Run the command; return the status to end with, never 0, how it ended, and if by a stop.

    SIGTERM and SIGINT are passed on.
    """
    child: subprocess.Popen[bytes] | None = None
    passed: list[int] = []

    def pass_on(number: int, _: object) -> None:
        passed.append(number)
        if child is not None:
            child.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    child = subprocess.Popen(command)
    if passed:
        child.send_signal(passed[0])
    code = child.wait()
    ended = f"signal {-code}" if code < 0 else f"exit status {code}"
    if passed:
        # Docker stops containers before a reboot in the same way as by hand.
        return 128 + passed[0], f"stopped by signal {passed[0]} ({ended})", True
    return (128 - code if code < 0 else code or 1), ended, False


def wait_for(address: str) -> None:
    """Wait until somebody listens at ``address:port``."""
    host, _, port = address.rpartition(":")
    said = False
    while True:
        try:
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        except OSError as problem:
            if not said:
                say(f"waiting for {address}: {problem}")
            said = True
            time.sleep(POLL_SECONDS)
        else:
            return


def supervise(
    command: list[str], limit: int, window: float, folder: Path, *, in_place: bool = False
) -> int:
    """Run the command unless it started too often; return the status to end with."""
    while True:
        status, is_over = start_once(command, limit, window, folder)
        if is_over or not in_place or not end_others():
            return status
        time.sleep(POLL_SECONDS)


def start_once(command: list[str], limit: int, window: float, folder: Path) -> tuple[int, bool]:
    """Count a start and run the command; return the status to end with, and if to end for good."""
    path, reason = folder / RECORD, folder / REASON
    record = load(path)
    if record is None:
        record = {"restarts": [], "end": ""}
    else:
        now = time.time()
        record["restarts"] = [*record["restarts"], now][-limit - 1 :]
        if too_many(record["restarts"], now, limit, window):
            # Whoever starts it by hand has looked, and means it.
            path.unlink()
            say(last_words(record, limit, window))
            return 0, True
    # Stands where there is no time to write another.
    save(path, {**record, "end": "the container was killed, or its host lost power"})
    with suppress(OSError):
        reason.unlink()
    status, ended, stopped = run(command)
    if reason.exists():
        ended = reason.read_text(encoding="utf-8")
    save(path, {**record, "end": ended})
    say(f"the command ended: {ended}")
    return status, stopped


def main(arguments: list[str]) -> int:
    """Read the arguments; return the exit status."""
    parser = argparse.ArgumentParser(prog="supervise")
    parser.add_argument("--limit", type=int, required=True)
    parser.add_argument("--window", type=float, required=True, metavar="SECONDS")
    parser.add_argument("--after", metavar="ADDRESS:PORT")
    parser.add_argument("--in-place", action="store_true")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    if options.after:
        wait_for(options.after)
    try:
        return supervise(
            options.command,
            options.limit,
            options.window,
            options.folder,
            in_place=options.in_place,
        )
    except FileNotFoundError as problem:
        say(f"the image has no program {problem.filename}")
        return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
