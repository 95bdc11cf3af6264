"""What tells a deployment from every other one, also from one of the same name."""

from __future__ import annotations

import pulumi
from pulumi_command import local


def identity(name: str, parent: pulumi.Resource) -> pulumi.Output[str]:
    """Declare it: made once, and kept in the engine's state."""
    made = local.Command(
        name,
        create="python3 -c 'import uuid; print(uuid.uuid4())'",
        logging=local.Logging.NONE,
        opts=pulumi.ResourceOptions(parent=parent),
    )
    return made.stdout
