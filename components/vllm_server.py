"""The vLLM server and the gate that asks it."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import pulumi_docker as docker
from pulumi_command import local

from components.containers import container
from components.docker_host import DockerHost
from components.gate import gate
from components.ray import RayCluster
from components.weights import WeightsGate
from tandem.planner.plan import Plan


class VllmServer(pulumi.ComponentResource):
    """The server's container, in the head's process and IPC namespaces where there is Ray."""

    container: docker.Container

    def __init__(
        self,
        name: str,
        plan: Plan,
        host: DockerHost,
        weights: WeightsGate,
        ray: RayCluster | None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:VllmServer", name, None, opts)
        shared: dict[str, Any] = {}
        if ray is not None:
            # A Ray driver finds its raylet by scanning processes, and shares memory with it.
            namespace = pulumi.Output.concat("container:", ray.head.container.id)
            shared = {"ipc_mode": namespace, "pid_mode": namespace}
        self.container = container(
            name,
            plan.server,
            host,
            self,
            depends_on=[ray.joined.command if ray else weights.command],
            trigger=[worker.container.id for worker in ray.workers] if ray else None,
            **shared,
        )
        self.register_outputs({"container": self.container.id})


class ReadyGate(pulumi.ComponentResource):
    """Done only when the server has completed a chat."""

    command: local.Command
    started: pulumi.Output[dict[str, float]]
    """What the server logged of its memory."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        server: VllmServer,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:ReadyGate", name, None, opts)
        self.command = gate(
            name, "ready", plan.ready.to_json(), self, containers=[server.container]
        )
        self.started = self.command.stdout.apply(lambda text: json.loads(text).get("started", {}))
        self.register_outputs({"report": self.command.stdout})
