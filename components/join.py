"""The gate behind the containers that have to join each other."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_command import local

from components.containers import Container
from components.gate import gate
from tandem.gates.spec import JoinSpec, RanksSpec


class JoinGate(pulumi.ComponentResource):
    """Done only when exactly the declared ranks have joined."""

    command: local.Command

    def __init__(
        self,
        name: str,
        spec: JoinSpec | RanksSpec,
        containers: Sequence[Container],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:JoinGate", name, None, opts)
        waits_for = [one.container for one in containers]
        self.command = gate(name, spec.program, spec.to_json(), self, containers=waits_for)
        self.register_outputs({"report": self.command.stdout})
