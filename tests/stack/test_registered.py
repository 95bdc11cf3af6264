"""A deployment that runs sees no difference after a change of the code alone."""

from __future__ import annotations

import pytest

from tests.stack.registrations import PLANS, golden, registrations


@pytest.mark.parametrize("name", PLANS)
def test_the_next_preview_of_a_running_deployment_shows_no_difference(name: str) -> None:
    now, before = registrations(name), golden(name)
    assert sorted(now) == sorted(before)
    for urn, said in before.items():
        assert now[urn] == said, urn
