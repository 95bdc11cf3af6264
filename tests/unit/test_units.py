"""Sizes and durations."""

import pytest

from tandem.units import (
    GIB,
    MIB,
    divide_up,
    gib,
    parse_bytes,
    parse_seconds,
    spell_bytes,
    spell_seconds,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10GiB", 10 * GIB),
        ("1.5GiB", 3 * GIB // 2),
        ("500MB", 500_000_000),
        (" 2 KiB ", 2048),
        ("7B", 7),
        ("3KB", 3000),
        ("2MB", 2_000_000),
        ("2GB", 2_000_000_000),
        ("2TB", 2_000_000_000_000),
        ("3KiB", 3 * 1024),
        ("3MiB", 3 * 1024**2),
        ("3TiB", 3 * 1024**4),
        (12, 12),
    ],
)
def test_sizes(text: object, value: int) -> None:
    assert parse_bytes(text) == value


@pytest.mark.parametrize("text", ["10", "ten GiB", "-1GiB", "1GiB2", "GiB", "", "1gib"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "value"), [("90s", 90), ("45m", 2700), ("1h30m", 5400), ("1d", 86400), (5, 5)]
)
def test_durations(text: object, value: int) -> None:
    assert parse_seconds(text) == value


@pytest.mark.parametrize("text", ["45", "45 min", "-5m", "1h,30m", "", "m"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_seconds(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (2 * 1024 * GIB, "2TiB"),
        (10 * GIB, "10GiB"),
        (1536 * MIB, "1536MiB"),
        (3 * 1024, "3KiB"),
        (1000, "1000B"),
    ],
)
def test_a_size_is_spelled_without_a_fraction(size: int, text: str) -> None:
    assert spell_bytes(size) == text
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("seconds", "text"), [(2700, "45m"), (7200, "2h"), (2 * 86400, "2d"), (90, "90s")]
)
def test_a_duration_is_spelled_without_a_fraction(seconds: int, text: str) -> None:
    assert spell_seconds(seconds) == text
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(("number", "by", "quotient"), [(0, 3, 0), (6, 3, 2), (7, 3, 3)])
def test_a_quotient_is_rounded_up(number: int, by: int, quotient: int) -> None:
    assert divide_up(number, by) == quotient


def test_a_size_in_gib_has_two_digits() -> None:
    assert (gib(GIB), gib(GIB + GIB // 8), gib(-GIB)) == ("1.00 GiB", "1.12 GiB", "-1.00 GiB")
