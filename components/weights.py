"""The model's weights: the gate that compares them on all hosts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pulumi
from pulumi_command import local

from components.docker_host import DockerHost
from components.gate import gate
from components.image import ImageGate
from tandem.planner.plan import Plan


class WeightsGate(pulumi.ComponentResource):
    """Done only when every host has exactly the files of the model's manifest."""

    command: local.Command
    manifest: pulumi.Output[dict[str, object]]
    """Revision, number of files, bytes, one hash over all, and the manifest's file."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        hosts: Sequence[DockerHost],
        image: ImageGate,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:WeightsGate", name, None, opts)
        needed = [
            part for host in hosts for part in (host.image, host.model_volume, host.hashes_volume)
        ]
        self.command = gate(
            name,
            "weights",
            plan.weights.to_json(),
            self,
            depends_on=[*needed, image.command],
            sees_last_result=True,
        )
        self.manifest = self.command.stdout.apply(json.loads)
        self.register_outputs({"manifest": self.manifest})
