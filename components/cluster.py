"""One model over several Docker hosts, whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from components.containers import Container
from components.docker_host import DockerHost
from components.identity import identity
from components.image import ImageGate
from components.join import JoinGate
from components.ready import ReadyGate
from components.weights import WeightsGate
from tandem.planner import ContainerSpec, Plan, beside


class Cluster(pulumi.ComponentResource):
    """Hosts, containers and gates of one plan; its outputs hold once the server has answered."""

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
        hosts = {
            host.name: DockerHost(f"{name}-{host.name}", host, own, inside) for host in plan.hosts
        }
        everywhere = tuple(hosts.values())
        image = ImageGate(f"{name}-image", plan, everywhere, inside)
        weights = WeightsGate(f"{name}-weights", plan, everywhere, image, inside)
        made: dict[str, Container] = {}
        joined: JoinGate | None = None
        # Those that wait for the join gate are the last ones of the plan.
        for spec in plan.containers:
            if spec.after_join and joined is None:
                joined = _join(name, plan, made, inside)
            gates = _gates(spec, weights, joined)
            own_name, host = f"{name}-{spec.host}-{spec.part}", hosts[spec.host]
            made[spec.name] = Container(own_name, spec, host, made, gates, inside)
        joined = joined or _join(name, plan, made, inside)
        # The server itself waits for the join gate, or has joined with the others.
        behind = [joined.command] if joined and not plan.server.after_join else []
        ready = ReadyGate(f"{name}-ready", plan, made[plan.server.name], behind, inside)

        self.endpoint = ready.command.stdout.apply(lambda _: plan.endpoint)
        self.containers = pulumi.Output.all(
            **{name: one.container.id for name, one in made.items()}
        )
        self.weights = weights.manifest
        self.memory = ready.started.apply(lambda started: beside(plan.fit, started))
        key = plan.api_key
        self.api_key = pulumi.Output.secret(key.get_secret_value()) if key else None
        self.register_outputs({"endpoint": self.endpoint, "containers": self.containers})


def _join(
    name: str, plan: Plan, made: Mapping[str, Container], opts: pulumi.ResourceOptions
) -> JoinGate | None:
    """Declare the join gate behind the containers that are there, where the plan has one."""
    return JoinGate(f"{name}-joined", plan.join, tuple(made.values()), opts) if plan.join else None


def _gates(
    spec: ContainerSpec, weights: WeightsGate, joined: JoinGate | None
) -> Sequence[pulumi.Resource]:
    """Return the gates right before a container; the weights come before the first ones."""
    if spec.after_join:
        return [joined.command] if joined else []
    return () if spec.after else (weights.command,)
