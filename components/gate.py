"""A gate as a resource: a command on the operator's machine that ends when something is true."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_docker as docker
from pulumi_command import local


def gate(
    name: str,
    program: str,
    spec: str,
    containers: Sequence[docker.Container],
    parent: pulumi.Resource,
) -> local.Command:
    """Declare the gate ``tandem.gates.<program>``; new containers make it run again."""
    return local.Command(
        name,
        create=f"python3 -m tandem.gates.{program}",
        stdin=spec,
        triggers=[container.id for container in containers],
        logging=local.Logging.STDERR,
        add_previous_output_in_env=False,
        opts=pulumi.ResourceOptions(
            parent=parent, depends_on=list(containers), delete_before_replace=True
        ),
    )
