"""The image: the gate that looks into it on all hosts."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
from pulumi_command import local

from components.docker_host import DockerHost
from components.gate import gate
from tandem.planner.plan import Plan


class ImageGate(pulumi.ComponentResource):
    """Done only when the image holds the same on every host, and Ray where that is needed."""

    command: local.Command

    def __init__(
        self,
        name: str,
        plan: Plan,
        hosts: Sequence[DockerHost],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:ImageGate", name, None, opts)
        images = [host.image for host in hosts]
        self.command = gate(name, "image", plan.image.to_json(), self, depends_on=images)
        self.register_outputs({"versions": self.command.stdout})
