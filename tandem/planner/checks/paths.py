"""Whether the hosts reach each other, and through the interface that is declared."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.planner.checks.places import Place


def check_paths(hosts: Sequence[Place]) -> Iterator[Finding]:
    """Yield each direction between two hosts that is blocked, or leads elsewhere (vllm#7074)."""
    for here, there in permutations(hosts, 2):
        if there.interface is None and there.seen.interfaces is not None:
            continue  # The address is not that host's: that is a finding of its own.
        problem = here.seen.paths.get(there.address)
        route = here.seen.routes.get(there.address)
        if problem is not None:
            yield error(
                "path-blocked",
                f"{there.path}.address",
                f"from {here.name} no TCP connection gets to {there.name} at {there.address}: "
                f"{problem}",
                "let all TCP ports through between the hosts: vLLM and NCCL choose theirs freely",
            )
        elif route and here.interface and route.device != here.interface.name:
            yield warning(
                "route-elsewhere",
                f"{here.path}.address",
                f"{here.name} reaches {there.name} at {there.address} through {route.device}, but "
                f"{here.address} is on {here.interface.name}",
                "declare addresses of one network on all hosts, or correct the route",
            )
