"""Show what the containers of all hosts wrote, merged by time."""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, NoReturn

from tandem.cli.columns import paragraphs
from tandem.cli.log_lines import Prefixes, header, merged
from tandem.cli.new_lines import NewLines
from tandem.cli.stack_file import read_stack_file
from tandem.cli.statuses import BROKEN, OK
from tandem.errors import InvalidStack
from tandem.findings import error
from tandem.planner.backends import roles
from tandem.survey.logs import read_host_logs, read_logs
from tandem.units import parse_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tandem.cli.stack_file import StackFile
    from tandem.settings import HostSettings
    from tandem.survey.logs import ContainerLog, HostLogs

LINES = 200
"""Of each container, where nothing is said."""

EVERY_SECONDS = 1
"""How often ``--follow`` asks for what is new."""

MOST_NEW_LINES = 10_000
"""Of each container in between: Docker reads so many from the end, however long its log is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's words."""
    parser.add_argument("stack", metavar="STACKFILE", help="a path, or the name of a stack")
    parser.add_argument("--host", action="append", metavar="NAME", help="only this host")
    parser.add_argument("--role", choices=roles(), help="only this role")
    parser.add_argument(
        "--lines",
        type=_count,
        metavar="N",
        help=f"the last N lines of each container ({LINES}, or all with --since)",
    )
    parser.add_argument("--follow", action="store_true", help="go on with new lines until Ctrl-C")
    parser.add_argument(
        "--previous",
        action="store_true",
        help="what was kept when a container was replaced or removed, or when a gate gave up",
    )
    parser.add_argument(
        "--since", type=_duration, metavar="TIME", help="what is not older, e.g. 10m"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the logs; return 0, or 1 when a host does not answer."""
    if arguments.previous and (arguments.since or arguments.follow):
        raise _invalid(
            "kept-is-whole",
            "--previous",
            "what was kept is short and does not grow",
            "leave --since and --follow out",
        )
    stack = read_stack_file(arguments.stack)
    hosts = _chosen(stack, arguments.host)
    lines = arguments.lines or (None if arguments.since else LINES)
    reader = _Reader(hosts, stack.name, arguments.role)
    try:
        if arguments.previous:
            return reader.previous(lines)
        return reader.now(lines, arguments.since or "", follows=arguments.follow)
    except KeyboardInterrupt:
        if sys.stdout.isatty():
            print()  # after the terminal's ^C
    except BrokenPipeError:
        # Who reads wants no more; what is still to be written would fail at the end, too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return reader.status


class _Reader:
    """Asks the hosts, and prints what they say and which of them do not answer."""

    def __init__(self, hosts: Sequence[HostSettings], stack: str, role: str | None) -> None:
        self._hosts = hosts
        self._stack = stack
        self._role = role
        self._prefixes = Prefixes(host.name for host in hosts)
        self._plain = not sys.stdout.isatty()
        self._problems: dict[str, str] = {}

    @property
    def status(self) -> int:
        """Return how the command ends."""
        return BROKEN if self._problems else OK

    def previous(self, lines: int | None) -> int:
        """Print what was kept."""
        seen = read_logs(self._hosts, self._stack, "kept", lines)
        logs = self._logs(seen)
        headers = [header(log, log.record) for log in logs if log.record is not None]
        if headers:
            print("\n".join(paragraphs(headers)), end="\n\n")
        self._print(logs)
        if not logs and not self._problems:
            print(f"{self._stack}: no log was kept on {self._names}", file=sys.stderr)
        return self.status

    def now(self, lines: int | None, since: str, *, follows: bool) -> int:
        """Print what is there and, when following, what comes."""
        seen = read_logs(self._hosts, self._stack, "now", lines, since)
        logs = self._logs(seen)
        self._print(logs)
        if follows:
            self._follow(NewLines(seen))
        if not logs and not self._problems:
            way = "`logs --previous` shows what was kept of containers that went"
            print(f"{self._stack}: nothing to show of {self._names}; {way}", file=sys.stderr)
        return self.status

    def _follow(self, new: NewLines) -> NoReturn:
        """Print what comes, of a host that is late when it comes."""
        asked: dict[Future[HostLogs], HostSettings] = {}
        with ThreadPoolExecutor(max_workers=len(self._hosts)) as pool:
            while True:
                time.sleep(EVERY_SECONDS)
                for host in self._hosts:
                    if host not in asked.values():
                        answer = pool.submit(self._ask_new, host, new.since(host.name))
                        asked[answer] = host
                done, _ = wait(asked, timeout=EVERY_SECONDS)
                seen = [answer.result() for answer in done]
                self._print(self._logs(new.of(seen)))
                asked = {answer: host for answer, host in asked.items() if answer not in done}

    def _ask_new(self, host: HostSettings, since: str) -> HostLogs:
        return read_host_logs(host, self._stack, "now", MOST_NEW_LINES, since)

    def _logs(self, seen: Sequence[HostLogs]) -> list[ContainerLog]:
        """Return what is asked for; that a host does not answer is said once."""
        for host in seen:
            if host.problem is None:
                self._problems.pop(host.name, None)
            elif host.name not in self._problems:
                self._problems[host.name] = host.problem
                print(f"{host.name} does not answer: {host.problem}", file=sys.stderr)
        logs = [log for host in seen for log in host.logs]
        return [log for log in logs if self._role in (None, log.role)]

    def _print(self, logs: Sequence[ContainerLog]) -> None:
        for line in merged(logs, self._prefixes, plain=self._plain):
            print(line)
        sys.stdout.flush()

    @property
    def _names(self) -> str:
        return ", ".join(host.name for host in self._hosts)


def _chosen(stack: StackFile, names: Sequence[str] | None) -> tuple[HostSettings, ...]:
    known = [host.name for host in stack.settings.hosts]
    for name in names or ():
        if name not in known:
            message = f'no host is named "{name}"'
            raise _invalid("unknown-host", "--host", message, f"known here: {', '.join(known)}")
    return tuple(
        host for host in stack.settings.hosts if (host.name in names if names else not host.retired)
    )


def _invalid(code: str, path: str, message: str, fix: str) -> InvalidStack:
    return InvalidStack([error(code, path, message, fix)])


def _count(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is no number of lines')
    return int(text)


def _duration(text: str) -> str:
    try:
        return f"{parse_seconds(text)}s"
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
