"""What Pulumi is told of a deployment is what the record says."""

import pytest

from tests.stack.declared import FOLDER, PLANS, declared


@pytest.mark.parametrize("name", PLANS)
def test_what_is_declared_is_recorded(name: str) -> None:
    recorded = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    assert declared(PLANS[name]()) == recorded, "python -m tests.stack.declared writes it"
