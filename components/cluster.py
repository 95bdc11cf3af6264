"""One model over several Docker hosts, whole."""

from __future__ import annotations

from typing import Any

import pulumi

from components.docker_host import DockerHost
from components.ray import JoinGate, RayHead, RayWorker
from components.vllm_server import ReadyGate, VllmServer
from tandem.planner import Plan


class Cluster(pulumi.ComponentResource):
    """Hosts, Ray, server and gates of one plan; its outputs hold once the server has answered."""

    endpoint: pulumi.Output[str]
    containers: pulumi.Output[dict[str, str]]

    def __init__(self, name: str, plan: Plan, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tandem:index:Cluster", name, None, opts)
        inside = pulumi.ResourceOptions(parent=self)
        hosts = [DockerHost(f"{name}-{host.name}", host, inside) for host in plan.hosts]
        first = plan.hosts[0].name
        ids: dict[str, Any] = {}

        head, workers, joined = None, [], None
        if plan.ray is not None:
            head = RayHead(f"{name}-{first}-ray-head", plan.ray, hosts[0], inside)
            ids[plan.ray.head.name] = head.container.id
            for host_plan, host in zip(plan.hosts, hosts, strict=True):
                if host_plan.worker is None:
                    continue
                worker_name = f"{name}-{host_plan.name}-ray-worker"
                worker = RayWorker(worker_name, host_plan.worker, host, head, inside)
                workers.append(worker)
                ids[host_plan.worker.name] = worker.container.id
            joined = JoinGate(f"{name}-joined", plan.ray, head, workers, inside)

        server = VllmServer(f"{name}-{first}-server", plan, hosts[0], head, workers, joined, inside)
        ids[plan.server.name] = server.container.id
        ready = ReadyGate(f"{name}-ready", plan, server, inside)

        self.endpoint = ready.command.stdout.apply(lambda _: plan.endpoint)
        self.containers = pulumi.Output.all(**ids)
        self.register_outputs({"endpoint": self.endpoint, "containers": self.containers})
