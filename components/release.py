"""What sees to it that a host is free again: made before its containers, deleted after them."""

from __future__ import annotations

import pulumi
import pulumi_docker as docker
from pulumi_command import local

from tandem.planner.plan import HostPlan


def release(
    name: str, plan: HostPlan, provider: docker.Provider, parent: pulumi.Resource
) -> local.Command:
    """Declare the check of one host; all its containers depend on it."""
    program = "python3 -m tandem.gates.release"
    return local.Command(
        name,
        create=f"{program} record",
        delete=f"{program} check",
        stdin=plan.release.to_json(),
        # Another host was free in another way. Its containers go with the provider, before this.
        triggers=[provider.id],
        logging=local.Logging.STDERR,
        add_previous_output_in_env=True,
        opts=pulumi.ResourceOptions(
            parent=parent,
            delete_before_replace=True,
            retain_on_delete=plan.is_retired,
        ),
    )
