"""The hosts' clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.planner.checks.places import Place
    from tandem.survey.machine import ClockFacts

TOLERATED = 5.0
"""Seconds from which logs of two hosts can't be read side by side."""
BROKEN = 600.0
"""Seconds from which certificates and a registry's tokens may count as expired or not yet valid."""


def check_clocks(hosts: Sequence[Place]) -> Iterator[Finding]:
    """Yield hosts whose clocks differ from the first host's, or all from the operator's."""
    clocks = [(host, host.seen.clock) for host in hosts if host.seen.clock is not None]
    if not clocks:
        return
    first, of_first = clocks[0]
    between = [(host, *_between(of_first, clock)) for host, clock in clocks[1:]]
    for host, offset, least in between:
        if least > TOLERATED:
            make = error if least > BROKEN else warning
            yield make(
                "clock-skew",
                f"{host.path}.name",
                f"the clock of {host.name} is {_words(offset)} that of {first.name}",
                "let both keep time by NTP: `timedatectl set-ntp true`",
            )
    if of_first.least > TOLERATED:
        yield warning(
            "clock-skew",
            f"{first.path}.name",
            f"the clock of {first.name} is {_words(of_first.offset)} that of this machine",
            "let both keep time by NTP: `timedatectl set-ntp true`",
        )


def _between(first: ClockFacts, other: ClockFacts) -> tuple[float, float]:
    """Return by how much the other is ahead, and what of it is sure, in seconds."""
    offset = other.offset - first.offset
    return offset, abs(offset) - first.uncertainty - other.uncertainty


def _words(offset: float) -> str:
    return f"{abs(offset):,.0f} s {'ahead of' if offset > 0 else 'behind'}"
