"""Ray over all hosts: the head, a worker on every other host, and the gate that counts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_docker as docker
from pulumi_command import local

from components.containers import container
from components.docker_host import DockerHost
from components.gate import gate
from components.kept_log import kept_log
from components.weights import WeightsGate
from tandem.planner import ContainerSpec
from tandem.planner.plan import RayPlan


class RayHead(pulumi.ComponentResource):
    """The Ray head, with the volume that it shares with the server."""

    container: docker.Container
    kept_log: local.Command

    def __init__(
        self,
        name: str,
        plan: RayPlan,
        host: DockerHost,
        weights: WeightsGate,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:RayHead", name, None, opts)
        session = docker.Volume(
            f"{name}-session",
            name=plan.session_volume.name,
            opts=pulumi.ResourceOptions(
                parent=self, provider=host.provider, retain_on_delete=host.is_retired
            ),
        )
        self.container = container(
            name,
            plan.head,
            host,
            self,
            depends_on=[session, weights.command],
            trigger=plan.fingerprint,
        )
        self.kept_log = kept_log(name, plan.head.name, self.container, host, self)
        self.register_outputs({"container": self.container.id})


class RayWorker(pulumi.ComponentResource):
    """A Ray worker; a new head makes a new worker, since a worker can't change its session."""

    container: docker.Container
    kept_log: local.Command

    def __init__(
        self,
        name: str,
        spec: ContainerSpec,
        host: DockerHost,
        head: RayHead,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:RayWorker", name, None, opts)
        self.container = container(
            name,
            spec,
            host,
            self,
            depends_on=[head.container, head.kept_log],
            trigger=head.container.id,
        )
        self.kept_log = kept_log(name, spec.name, self.container, host, self)
        self.register_outputs({"container": self.container.id})


class JoinGate(pulumi.ComponentResource):
    """Done only when exactly the declared nodes have joined."""

    command: local.Command

    def __init__(
        self,
        name: str,
        plan: RayPlan,
        head: RayHead,
        workers: Sequence[RayWorker],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:JoinGate", name, None, opts)
        containers = [head.container, *(worker.container for worker in workers)]
        self.command = gate(name, "join", plan.join.to_json(), self, containers=containers)
        self.register_outputs({"report": self.command.stdout})


@dataclass(frozen=True)
class RayCluster:
    """What the server starts on: all Ray containers, and the gate behind them."""

    head: RayHead
    workers: tuple[RayWorker, ...]
    joined: JoinGate

    @property
    def containers(self) -> tuple[docker.Container, ...]:
        """Return the head's container and the workers'."""
        return (self.head.container, *(worker.container for worker in self.workers))

    @property
    def kept_logs(self) -> tuple[local.Command, ...]:
        """Return what keeps the head's log and the workers'."""
        return (self.head.kept_log, *(worker.kept_log for worker in self.workers))
