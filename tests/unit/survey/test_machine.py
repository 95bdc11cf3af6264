"""Clock and disks of a host."""

import pytest

from tandem.survey.machine import DiskFacts, read_clock, read_disks


@pytest.mark.parametrize("offset", [0.0, 600.0, -600.0])
def test_the_offset_is_right_within_the_time_that_the_answer_was_on_its_way(offset: float) -> None:
    # Asked at 1000 s, read at 1000.3 s and 1001.3 s, answered at 1001.5 s of this machine's clock.
    clock = read_clock(f"{1000.3 + offset:.9f}", f"{1001.3 + offset:.9f}", 1000.0, 1001.5)
    assert clock is not None
    assert clock.uncertainty == pytest.approx(0.25)
    assert abs(clock.offset - offset) <= clock.uncertainty + 1e-6
    assert clock.least <= abs(offset) + 1e-6


def test_a_date_without_nanoseconds_is_a_second_less_sure() -> None:
    # The host's clock is right: it read 100.9 s and 101.9 s, and said the whole seconds.
    clock = read_clock("100.%N", "101.%N", 100.5, 102.0)
    assert clock is not None
    assert abs(clock.offset) <= clock.uncertainty


def test_a_host_without_a_date_has_no_clock() -> None:
    assert read_clock("", "", 0, 1) is None


def test_a_name_with_blanks_keeps_the_columns_of_df_apart() -> None:
    line = "model\t//nas/my share 1000 400 600 40% /srv/my models"
    assert read_disks(line) == {
        "model": DiskFacts(size=1000 * 1024, free=600 * 1024, mounted_on="/srv/my models")
    }
