"""The lab that is up, for tests that need hosts."""

import pytest

from lab import Lab


@pytest.fixture(scope="session")
def hosts() -> Lab:
    """Return the lab of two hosts; `make lab-up` starts it."""
    return Lab.up(2)
