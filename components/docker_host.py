"""A host with Docker: the provider that reaches it, the image and the model's volumes on it."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
import pulumi_docker as docker
from pulumi_command import local

from components.release import release
from tandem.gates.spec import KeepSpec
from tandem.planner.plan import HostPlan


class DockerHost(pulumi.ComponentResource):
    """A Docker host over SSH, with what every container on it needs."""

    provider: docker.Provider
    image: docker.RemoteImage
    model_volume: docker.Volume
    hashes_volume: docker.Volume
    volumes: dict[str, pulumi.Output[str]]
    """What containers mount, by name."""
    release: local.Command
    """Checks that the host is free again once its containers are gone."""
    kept: Mapping[str, KeepSpec]
    """How the log of each container is kept, by its name."""
    is_retired: bool
    """Nothing of it is deleted: it is only forgotten."""
    identity: pulumi.Output[str]
    """What tells the deployment's containers from all others."""

    def __init__(
        self,
        name: str,
        plan: HostPlan,
        identity: pulumi.Output[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("tandem:index:DockerHost", name, None, opts)
        self.provider = docker.Provider(
            f"{name}-docker",
            host=plan.target.docker_host,
            # The operator's DOCKER_CONTEXT would come before the host.
            context="",
            ssh_opts=list(plan.target.all_options),
            opts=pulumi.ResourceOptions(
                parent=self,
                # A provider that is only updated would leave what it made behind on the old host.
                # Everything that a provider made is replaced with it, and deleted through the old
                # one first. Other options of ssh lead to the same host.
                replace_on_changes=["host"],
                delete_before_replace=True,
            ),
        )
        self.kept, self.is_retired = plan.kept, plan.is_retired
        self.identity = identity
        self.release = release(f"{name}-release", plan, self.provider, self)
        on_host = pulumi.ResourceOptions(
            parent=self, provider=self.provider, retain_on_delete=plan.is_retired
        )
        self.image = docker.RemoteImage(
            f"{name}-image", name=plan.image, keep_locally=True, opts=on_host
        )
        volume = plan.model_volume
        self.model_volume = docker.Volume(
            f"{name}-model",
            name=volume.name,
            driver="local",
            driver_opts=(
                {"type": "none", "o": "bind", "device": volume.device} if volume.device else None
            ),
            opts=pulumi.ResourceOptions(
                parent=self,
                provider=self.provider,
                # Not protect: that would refuse to destroy the stack, and this leaves the volume
                # behind for the next `up`, which takes it over.
                retain_on_delete=plan.is_retired or volume.is_kept,
            ),
        )
        self.hashes_volume = docker.Volume(
            f"{name}-hashes", name=plan.hashes_volume.name, opts=on_host
        )
        self.volumes = {volume.name: self.model_volume.name}
        self.register_outputs({"image": self.image.repo_digest})
