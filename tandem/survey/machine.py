"""The machine itself: system, memory, disks, clock."""

from __future__ import annotations

import re

from tandem.survey.base import FactsModel


class SystemFacts(FactsModel):
    """What runs on the machine."""

    os: str | None = None
    """Such as ``Ubuntu 24.04.3 LTS``."""
    kernel: str | None = None
    architecture: str | None = None
    """As ``uname -m`` says: ``x86_64``, ``aarch64``."""


class MemoryFacts(FactsModel):
    """The host's own memory, in bytes, from /proc/meminfo."""

    total: int
    available: int
    """MemAvailable: what a program can have, page cache included."""


class DiskFacts(FactsModel):
    """Where a folder is."""

    free: int
    """Bytes that a user without privileges can still write."""
    size: int
    mounted_on: str


class ClockFacts(FactsModel):
    """The host's clock against the operator's."""

    offset: float
    """Seconds; positive when the host's clock is ahead."""
    uncertainty: float
    """The offset is right within so many seconds either way, as the answer was on its way."""

    @property
    def least(self) -> float:
        """Return by how many seconds the clocks differ at least."""
        return max(0.0, abs(self.offset) - self.uncertainty)


def read_system(printed: str) -> SystemFacts:
    """Read ``uname -srm`` and the value of PRETTY_NAME."""
    names, _, pretty = printed.partition("\n")
    words = names.split()
    if len(words) != 3:
        return SystemFacts()
    return SystemFacts(os=pretty.strip('"') or None, kernel=words[1], architecture=words[2])


def read_memory(printed: str) -> MemoryFacts | None:
    """Read /proc/meminfo, whose "kB" are 1024 bytes."""
    rows = re.findall(r"^(MemTotal|MemAvailable):\s+(\d+) kB", printed, re.MULTILINE)
    sizes = {name: int(size) * 1024 for name, size in rows}
    if len(sizes) != 2:
        return None
    return MemoryFacts(total=sizes["MemTotal"], available=sizes["MemAvailable"])


def read_disks(printed: str) -> dict[str, DiskFacts]:
    """Read the last line of ``df -Pk`` for each folder that is there, by the folder's word."""
    rows = re.finditer(
        r"^(\w+)\t.*?\s(\d+)\s+\d+\s+(-?\d+)\s+[\d-]+%?\s+(/.*)$", printed, re.MULTILINE
    )
    return {
        row[1]: DiskFacts(size=int(row[2]) * 1024, free=int(row[3]) * 1024, mounted_on=row[4])
        for row in rows
    }


def read_clock(started: str, ended: str, sent: float, received: float) -> ClockFacts | None:
    """Compare two readings of the host's clock with the operator's around them, in seconds.

    The host read its clock after ``sent`` and before ``received``: the true offset is between
    ``ended - received`` and ``started - sent`` (as in RFC 5905, section 8).
    """
    readings = [_seconds(started), _seconds(ended)]
    if readings[0] is None or readings[1] is None:
        return None
    most, least = readings[0] - sent, readings[1] - received
    # Without nanoseconds a reading may be up to a second late.
    coarse = 0.0 if "." in _digits(started) else 1.0
    return ClockFacts(
        offset=(most + least + coarse) / 2,
        uncertainty=max(0.0, (most - least + coarse) / 2),
    )


def _digits(text: str) -> str:
    match = re.match(r"\d+(\.\d+)?", text)
    return match[0] if match else ""


def _seconds(text: str) -> float | None:
    digits = _digits(text)
    return float(digits) if digits else None
