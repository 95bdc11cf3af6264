"""One model over several Docker hosts, whole."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi

from components.docker_host import DockerHost
from components.identity import identity
from components.image import ImageGate
from components.ray import JoinGate, RayCluster, RayHead, RayWorker
from components.vllm_server import ReadyGate, VllmServer
from components.weights import WeightsGate
from tandem.planner import Plan, beside
from tandem.planner.plan import RayPlan


class Cluster(pulumi.ComponentResource):
    """Hosts, Ray, server and gates of one plan; its outputs hold once the server has answered."""

    endpoint: pulumi.Output[str]
    containers: pulumi.Output[dict[str, str]]
    api_key: pulumi.Output[str] | None
    """Key that clients have to send; None when everybody may ask."""
    weights: pulumi.Output[dict[str, object]]
    """The model's files: revision, number, bytes, one hash over all, and the manifest's file."""
    memory: pulumi.Output[dict[str, dict[str, str]]]
    """What was planned for a rank, beside what the start logged."""

    def __init__(self, name: str, plan: Plan, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("tandem:index:Cluster", name, None, opts)
        inside = pulumi.ResourceOptions(parent=self)
        own = identity(f"{name}-identity", self)
        hosts = [DockerHost(f"{name}-{host.name}", host, own, inside) for host in plan.hosts]
        image = ImageGate(f"{name}-image", plan, hosts, inside)
        weights = WeightsGate(f"{name}-weights", plan, hosts, image, inside)
        ray = _ray(name, plan, plan.ray, hosts, weights, inside) if plan.ray else None
        server_name = f"{name}-{plan.hosts[0].name}-server"
        server = VllmServer(server_name, plan, hosts[0], weights, ray, inside)
        ready = ReadyGate(f"{name}-ready", plan, server, inside)

        containers = (*(ray.containers if ray else ()), server.container)
        self.endpoint = ready.command.stdout.apply(lambda _: plan.endpoint)
        self.containers = pulumi.Output.all(
            **{spec.name: made.id for spec, made in zip(plan.containers, containers, strict=True)}
        )
        self.weights = weights.manifest
        self.memory = ready.started.apply(lambda started: beside(plan.fit, started))
        key = plan.api_key
        self.api_key = pulumi.Output.secret(key.get_secret_value()) if key else None
        self.register_outputs({"endpoint": self.endpoint, "containers": self.containers})


def _ray(
    name: str,
    plan: Plan,
    ray: RayPlan,
    hosts: Sequence[DockerHost],
    weights: WeightsGate,
    opts: pulumi.ResourceOptions,
) -> RayCluster:
    head = RayHead(f"{name}-{plan.hosts[0].name}-ray-head", ray, hosts[0], weights, opts)
    workers = tuple(
        RayWorker(f"{name}-{declared.name}-ray-worker", declared.worker, host, head, opts)
        for declared, host in zip(plan.hosts, hosts, strict=True)
        if declared.worker is not None
    )
    return RayCluster(head, workers, JoinGate(f"{name}-joined", ray, head, workers, opts))
