"""The lab that is up, for tests that need hosts."""

import signal

import pytest

from lab import Lab

# A job in the background ignores it, and so would all that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def hosts() -> Lab:
    """Return the lab of two hosts; `make lab-up` starts it."""
    return Lab.up(2)
