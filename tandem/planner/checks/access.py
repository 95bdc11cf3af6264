"""Whether the hosts and their Docker can be reached at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.checks.places import Place


def check_access(hosts: Iterable[Place]) -> Iterator[Finding]:
    """Yield hosts without SSH (pulumi-command#199) and users without Docker (moby#39841)."""
    for host in hosts:
        ssh = host.declared.ssh
        if host.seen.problem is not None:
            yield error(
                "host-unreachable",
                f"{host.path}.ssh",
                f"no connection to {ssh}: {host.seen.problem}",
                f"`ssh {ssh} docker version` has to work",
            )
        elif host.seen.docker.problem is not None:
            yield error(
                "docker-not-usable",
                f"{host.path}.ssh",
                f"{ssh} can log in but can't use Docker: {host.seen.docker.problem}",
                "start Docker there, and add the user to the group docker",
            )
