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
    parent: pulumi.Resource,
    *,
    containers: Sequence[docker.Container] = (),
    depends_on: Sequence[pulumi.Resource] = (),
    sees_last_result: bool = False,
    is_settled: bool = False,
) -> local.Command:
    """Declare the gate ``tandem.gates.<program>``; new containers or a new spec run it again.

    A gate that sees its last result finds it in the variable PULUMI_COMMAND_STDOUT.
    One that is settled does not run again for a new spec.
    """
    return local.Command(
        name,
        create=f"python3 -m tandem.gates.{program}",
        stdin=spec,
        triggers=[container.id for container in containers],
        logging=local.Logging.STDERR,
        add_previous_output_in_env=sees_last_result,
        opts=pulumi.ResourceOptions(
            parent=parent,
            depends_on=[*containers, *depends_on],
            delete_before_replace=True,
            ignore_changes=["stdin"] if is_settled else None,
        ),
    )
