"""A host with Docker: the provider that reaches it, the image and the model's volume on it."""

from __future__ import annotations

import pulumi
import pulumi_docker as docker

from tandem.planner.plan import HostPlan


class DockerHost(pulumi.ComponentResource):
    """A Docker host over SSH, with what every container on it needs."""

    provider: docker.Provider
    image: docker.RemoteImage
    model_volume: docker.Volume

    def __init__(
        self, name: str, plan: HostPlan, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("tandem:index:DockerHost", name, None, opts)
        self.provider = docker.Provider(
            provider_name(name, plan),
            host=plan.target.docker_host,
            # The operator's DOCKER_CONTEXT would come before the host.
            context="",
            ssh_opts=list(plan.target.all_options),
            opts=pulumi.ResourceOptions(parent=self),
        )
        on_host = pulumi.ResourceOptions(parent=self, provider=self.provider)
        self.image = docker.RemoteImage(
            f"{name}-image", name=plan.image, keep_locally=True, opts=on_host
        )
        volume = plan.model_volume
        self.model_volume = docker.Volume(
            f"{name}-model",
            name=volume.name,
            driver="local",
            driver_opts={"type": "none", "o": "bind", "device": volume.device or ""},
            opts=on_host,
        )
        self.register_outputs({"image": self.image.repo_digest})


def provider_name(name: str, plan: HostPlan) -> str:
    """Return a provider name that holds the destination.

    A provider whose host changes is updated in place, and the containers on the old host would be
    orphaned; another provider makes the engine replace them through the old one.
    """
    destination = plan.target.destination.removeprefix("ssh://")
    return f"{name}-{destination}".replace(":", ".")
