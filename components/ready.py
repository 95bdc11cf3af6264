"""The gate that asks the server."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pulumi
from pulumi_command import local

from components.containers import Container
from components.gate import gate
from tandem.planner import Plan


class ReadyGate(pulumi.ComponentResource):
    """Done only when the server has completed a chat."""

    command: local.Command
    started: pulumi.Output[dict[str, float]]
    """What the server logged of its memory."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        server: Container,
        depends_on: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:ReadyGate", name, None, opts)
        self.command = gate(
            name,
            "ready",
            plan.ready.to_json(),
            self,
            containers=[server.container],
            depends_on=depends_on,
            # What was planned for a host is not known once nobody looks at it.
            is_settled=any(host.is_retired for host in plan.hosts),
        )
        self.started = self.command.stdout.apply(lambda text: json.loads(text).get("started", {}))
        self.register_outputs({"report": self.command.stdout})
