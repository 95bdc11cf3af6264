"""Clocks that differ."""

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.survey.machine import ClockFacts
from tests.builders import findings


def clock(offset: float, uncertainty: float = 0.5) -> dict[str, Any]:
    """Return facts of a clock that is so many seconds ahead of this machine's."""
    return {"clock": ClockFacts(offset=offset, uncertainty=uncertainty)}


@pytest.mark.parametrize(
    ("offset", "severity", "words"),
    [
        (620, Severity.ERROR, "the clock of host-2 is 620 s ahead of that of host-1"),
        (-60, Severity.WARNING, "the clock of host-2 is 60 s behind that of host-1"),
    ],
)
def test_a_host_that_is_off_is_told(offset: float, severity: Severity, words: str) -> None:
    (finding,) = findings(2, clock(0), last=clock(offset))
    assert (finding.code, finding.severity) == ("clock-skew", severity)
    assert words in finding.message


def test_when_all_hosts_agree_it_is_this_machine_that_may_be_off() -> None:
    (finding,) = findings(2, clock(900), last=clock(900))
    assert (finding.code, finding.severity) == ("clock-skew", Severity.WARNING)
    assert "the clock of host-1 is 900 s ahead of that of this machine" in finding.message


def test_what_a_slow_answer_can_explain_is_fine() -> None:
    assert findings(2, clock(0), last=clock(14, uncertainty=10)) == []
    assert findings(1, clock(4)) == []


def test_a_clock_that_was_not_seen_is_not_compared() -> None:
    assert findings(2, last=clock(2)) == []
