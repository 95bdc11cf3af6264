"""Variables of containers: what Tandem sets, a stack file may not set again."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.planner import environment
from tandem.planner.backends import reserved_variables
from tandem.planner.environment import IMAGE_VARIABLES
from tandem.planner.rules.reserved import variables
from tests.builders import plan, settings

RESERVED = environment.RESERVED | reserved_variables()
MAY_BE_OTHERS = {
    "HF_HUB_OFFLINE",
    "NCCL_IB_DISABLE",
    "OMPI_MCA_btl_tcp_if_include",
    "UCX_NET_DEVICES",
}
"""What Tandem sets and a host's own ``env`` may set otherwise: a network that Tandem can't know."""

IMAGES_OWN = {
    "image.entrypoint": "image",
    "serve.maxModelLen": 512,
    "serve.gpuMemoryUtilization": 0.5,
}


def names(changes: dict[str, Any] | None = None) -> set[str]:
    """Return the variables of all containers of a plan."""
    return {name for spec in plan(2, changes).containers for name in spec.env}


def test_what_is_reserved_is_set_and_what_is_set_is_reserved_or_may_be_otherwise() -> None:
    # A container whose command is vLLM's own gets the port as an argument.
    assert names() == RESERVED.keys() - {"VLLM_PORT"} | MAY_BE_OTHERS
    assert names(IMAGES_OWN) == RESERVED.keys() | MAY_BE_OTHERS | set(IMAGE_VARIABLES)


@pytest.mark.parametrize("name", RESERVED)
def test_a_reserved_variable_is_refused_on_a_host_and_for_the_server(name: str) -> None:
    for place in ("hosts.0.env", "serve.env"):
        (finding,) = variables(settings(1, {place: {name: "x"}}))
        assert finding.code == "reserved-variable"
        assert finding.fix == f"use {RESERVED[name]}"
