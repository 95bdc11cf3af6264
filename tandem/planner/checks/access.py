"""Whether the hosts and their Docker can be reached at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.checks.places import Place


def check_access(hosts: Iterable[Place]) -> Iterator[Finding]:
    """Yield hosts without SSH (pulumi-command#199) and users without Docker (moby#39841).

    Docker's host network is inside RootlessKit's namespace when it is rootless (Docker's manual,
    "Rootless mode", known limitations).
    """
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
        elif host.seen.docker.rootless:
            yield warning(
                "docker-rootless",
                f"{host.path}.ssh",
                f"Docker on {host.name} is rootless: what it calls the host's network is one of "
                f"its own, without {host.address}",
                "use the system's Docker there: `sudo usermod -aG docker $USER`",
            )
