"""The lab that is up, for tests that need hosts."""

import pytest

from lab import Lab
from tests.shell import heed_interrupts

heed_interrupts()


@pytest.fixture(scope="session")
def hosts() -> Lab:
    """Return the lab of two hosts; `make lab-up` starts it."""
    return Lab.up(2)
