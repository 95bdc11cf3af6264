"""What is new in logs that are read again."""

from __future__ import annotations

from tandem.cli.new_lines import UNSEEN, NewLines
from tandem.survey.logs import ContainerLog, HostLogs, LogLine


def host(*texts: str, container: str = "a", now: str = "2026-11-30T12:00:30Z") -> HostLogs:
    """Return a host with one container, whose lines are a second apart."""
    lines = tuple(
        LogLine(time=f"2026-11-30T12:00:0{second}.000000000Z", text=text)
        for second, text in enumerate(texts)
    )
    log = ContainerLog(host="host-1", container=container, role="server", lines=lines)
    return HostLogs(name="host-1", now=now, logs=(log,))


def texts(hosts: list[HostLogs]) -> list[str]:
    return [line.text for one in hosts for log in one.logs for line in log.lines]


def test_a_line_is_shown_once() -> None:
    new = NewLines([host("one")])
    assert texts(new.of([host("one", "two")])) == ["two"]
    assert texts(new.of([host("one", "two")])) == []
    assert texts(new.of([host("one", "two", "three")])) == ["three"]


def test_all_of_a_container_that_came_later_is_new() -> None:
    new = NewLines([host("one")])
    assert texts(new.of([host("x", container="b")])) == ["x"]


def test_the_hosts_own_clock_says_from_when_on() -> None:
    new = NewLines([host(now="2026-11-30T12:00:01Z")])
    assert new.since("host-1") == "2026-11-30T11:59:58Z"
    assert new.since("host-2") == UNSEEN


def test_after_a_silence_nothing_is_lost() -> None:
    new = NewLines([host("one", now="2026-11-30T12:00:10Z")])
    silent = HostLogs(name="host-1", problem="Connection refused")
    assert new.of([silent]) == [silent]
    assert new.since("host-1") == "2026-11-30T12:00:07Z"
