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
from components.kept_log import kept_log
from components.ray import RayCluster
from components.weights import WeightsGate
from tandem.planner.plan import Plan


class VllmServer(pulumi.ComponentResource):
    """The server's container, in the head's process and IPC namespaces where there is Ray."""

    container: docker.Container
    kept_log: local.Command

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
        before = [ray.joined.command, *ray.kept_logs] if ray else [weights.command]
        self.container = container(
            name,
            plan.server,
            host,
            self,
            depends_on=before,
            trigger=[worker.container.id for worker in ray.workers] if ray else None,
            **shared,
        )
        self.kept_log = kept_log(name, plan.server.name, self.container, host, self)
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
            name,
            "ready",
            plan.ready.to_json(),
            self,
            containers=[server.container],
            # What was planned for a host is not known once nobody looks at it.
            is_settled=any(host.is_retired for host in plan.hosts),
        )
        self.started = self.command.stdout.apply(lambda text: json.loads(text).get("started", {}))
        self.register_outputs({"report": self.command.stdout})
