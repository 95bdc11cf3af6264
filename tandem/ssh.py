"""The one way to a host: the system's OpenSSH client.

Docker's own ``ssh://`` runs the same program, so aliases, ports, users, agents, jump hosts and
known_hosts work as the user set them up, and both share one multiplexed connection per host.
Standard library only: gates use it.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

UNREACHABLE = 255
"""OpenSSH's own exit status when the connection, not the remote command, failed."""

# OpenSSH takes the first value of an option, so what the user gives goes before these.
_OPTIONS = {
    "BatchMode": "yes",  # nobody can answer a prompt during a deployment
    "StrictHostKeyChecking": "yes",
    "ConnectTimeout": "10",
    # A host that dies without closing its connection ends a wait after 30 seconds.
    "ServerAliveInterval": "10",
    "ServerAliveCountMax": "3",
    "ControlMaster": "auto",
    "ControlPersist": "60",
}

_UNTIL_NOBODY_WAITS = """
end() (
    for its in /proc/[0-9]*; do
        read -r line <"$its/stat" || continue
        set -- "$1" ${line##*) }
        [ "$3" != "$1" ] || end "${its#/proc/}"
    done
    kill "$1"
)
exec 3<&0
bytes=$1
shift
if [ "$bytes" = 0 ]; then
    "$@" </dev/null &
else
    input=$(head -c "$bytes" <&3; echo .)
    printf %s "${input%.}" | "$@" &
fi
work=$!
{ cat <&3; end $work; } >/dev/null 2>&1 & reader=$!
wait $work; status=$?
kill $reader 2>/dev/null
exit $status
"""
"""Runs a command until it ends, or until whoever waits for it does: then all goes that it started.

Killing ``ssh`` does not end what runs on the host, but it ends the input. The first bytes of that,
as many as the first argument says, are the command's own.
"""

WITH_INPUT = ("sh", "-c", 'exec "$@" <&3', "sh")
"""Put before a command, lets its input last until nobody waits for it; otherwise it has none."""


@dataclass(frozen=True)
class SshTarget:
    """A host as typed after ``ssh``, with the options that lead to it."""

    destination: str
    """An alias of ``~/.ssh/config``, ``user@host``, or ``ssh://user@host:port``."""
    options: tuple[str, ...] = ()
    """The user's own words for ``ssh``, e.g. ``("-o", "ProxyJump=bastion")``."""

    @property
    def all_options(self) -> tuple[str, ...]:
        """Return the user's options followed by Tandem's defaults, as separate words."""
        named = _OPTIONS | {"ControlPath": self._control_path}
        defaults = (word for name, value in named.items() for word in ("-o", f"{name}={value}"))
        return (*self.options, *defaults)

    @property
    def _control_path(self) -> str:
        # %C alone is the same for two aliases of one host, and a connection whose host key was
        # verified for one of them would serve the other, too. No absolute path: this is in state.
        words = "\0".join((self.destination, *self.options))
        return f"~/.ssh/tandem-{hashlib.sha256(words.encode()).hexdigest()[:8]}-%C"

    @property
    def docker_host(self) -> str:
        """Return the destination in the form of ``DOCKER_HOST``."""
        return self.destination if self.is_url else f"ssh://{self.destination}"

    @property
    def is_url(self) -> bool:
        """Tell whether the destination is written as ``ssh://…``."""
        return self.destination.startswith("ssh://")

    def argv(self, *command: str) -> list[str]:
        """Return the words that run ``command`` on the host, quoted for the remote shell."""
        return ["ssh", *self.all_options, "-T", "--", self.destination, shlex.join(command)]

    def run(
        self, *command: str, stdin: str = "", timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run ``command`` on the host and return its output and exit status.

        Timeout in seconds; a host that does not answer within it counts as unreachable, and what
        it said until then is the output. It ends on the host, too, when nobody waits for it.
        ``stdin`` is a script: up to 16 KiB.
        """
        with self._running(command, stdin) as process:
            try:
                output, said = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired as late:
                process.kill()
                silence = f"no answer within {timeout:g} s"
                # Bytes, whatever was asked for (bugs.python.org/issue38182).
                until = late.stdout.decode(errors="replace") if late.stdout else ""
                return subprocess.CompletedProcess(process.args, UNREACHABLE, until, silence)
        return subprocess.CompletedProcess(process.args, process.returncode, output, said)

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start ``command`` with pipes to its three streams and return at once.

        The end of its standard input is how a command learns that nobody waits for it any more:
        killing ``ssh`` does not end what runs on the host.
        """
        make_control_directory()
        return self._popen(self.argv(*command), subprocess.PIPE)

    def run_watched(
        self, *command: str, watch: Callable[[], object], every: float
    ) -> subprocess.CompletedProcess[str]:
        """Run ``command`` and call ``watch`` every so many seconds; what that raises ends it.

        For `docker exec`, which may hang for ever when its container ends under it.
        """
        with self._running(command) as process:
            while True:
                try:
                    output, said = process.communicate(timeout=every)
                    break
                except subprocess.TimeoutExpired:
                    watch()
        return subprocess.CompletedProcess(command, process.returncode, output, said)

    @contextmanager
    def _running(
        self, command: tuple[str, ...], stdin: str = ""
    ) -> Iterator[subprocess.Popen[str]]:
        """Run a command for as long as the block lasts."""
        make_control_directory()
        script = stdin.encode()
        argv = self.argv("sh", "-c", _UNTIL_NOBODY_WAITS, "sh", str(len(script)), *command)
        # A pipe of our own: communicate would close one of the process at once.
        theirs, ours = os.pipe()
        try:
            try:
                os.write(ours, script)
                process = self._popen(argv, theirs)
            finally:
                os.close(theirs)
            with process:
                try:
                    yield process
                except BaseException:
                    process.kill()
                    raise
        finally:
            os.close(ours)

    def _popen(self, argv: list[str], stdin: int) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            argv, stdin=stdin, stdout=pipe, stderr=pipe, text=True, errors="replace"
        )


def last_line(text: str) -> str:
    """Return the last line of what a command printed: its reason, as a rule; may be empty."""
    return text.strip().rpartition("\n")[2]


def make_control_directory() -> None:
    """Create ``~/.ssh`` where it is missing: OpenSSH exits when it can't bind a socket there."""
    Path.home().joinpath(".ssh").mkdir(mode=0o700, exist_ok=True)
