"""One container on one host: what it comes after, and when it is replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_docker as docker
from pulumi_command import local

from components.canonical import container_arguments
from components.docker_host import DockerHost
from components.kept_log import kept_log
from tandem.gates.spec import Watched
from tandem.gates.unrecorded import IDENTITY, remove_unrecorded
from tandem.planner import ContainerSpec


def replacement_options(
    parent: pulumi.Resource,
    provider: docker.Provider,
    depends_on: Sequence[pulumi.Resource],
    trigger: Any = None,
    *,
    is_retired: bool = False,
    hooks: pulumi.ResourceHookBinding | None = None,
) -> pulumi.ResourceOptions:
    """Return the options of every container: any difference makes a new one, the old one first.

    A container that is found stopped, or that could not start, must not be patched: the gates
    behind it run again only when it is replaced.
    """
    return pulumi.ResourceOptions(
        parent=parent,
        provider=provider,
        depends_on=depends_on,
        replace_on_changes=["*"],
        # A replacement that replace_on_changes asks for is create-first otherwise.
        delete_before_replace=True,
        replacement_trigger=trigger,
        retain_on_delete=is_retired,
        hooks=hooks,
    )


def clearing_hook(name: str, watched: Watched) -> pulumi.ResourceHook:
    """Return what removes a container that an interrupted run has left in the way of a new one."""

    async def clear(args: pulumi.ResourceHookArgs) -> None:
        labels = {one["label"]: one["value"] for one in (args.new_inputs or {})["labels"]}
        # A thread of its own: several hosts are asked at the same time.
        if await asyncio.to_thread(remove_unrecorded, watched, labels[IDENTITY]):
            place = f"{watched.container} on {watched.host}"
            pulumi.log.info(f"removed {place}, which an interrupted run had left")

    return pulumi.ResourceHook(f"{name}-unrecorded", clear)


class Container(pulumi.ComponentResource):
    """A container of the plan, with the volume that is there for it and its kept log.

    Its type is what the plan says: ``VllmServer``, ``RayHead`` and so on.
    """

    spec: ContainerSpec
    container: docker.Container
    kept_log: local.Command

    def __init__(
        self,
        name: str,
        spec: ContainerSpec,
        host: DockerHost,
        others: Mapping[str, Container],
        gates: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Declare it after the ``others``, by their names on the hosts, and after the ``gates``."""
        super().__init__(f"tandem:index:{spec.kind}", name, None, opts)
        self.spec = spec
        hook = clearing_hook(name, host.kept[spec.name].watched)
        before = (host.image, host.model_volume, host.release, *self._volume(name, host), *gates)
        self.container = docker.Container(
            name,
            image=host.image.repo_digest,
            **container_arguments(spec, host.volumes, {IDENTITY: host.identity}),
            **_shared_namespaces(spec, others),
            opts=replacement_options(
                self,
                host.provider,
                (*before, *_before(spec, others)),
                _trigger(spec, others),
                is_retired=host.is_retired,
                hooks=pulumi.ResourceHookBinding(before_create=[hook]),
            ),
        )
        self.kept_log = kept_log(name, spec.name, self.container, host, self)
        self.register_outputs({"container": self.container.id})

    def _volume(self, name: str, host: DockerHost) -> tuple[docker.Volume, ...]:
        volume = self.spec.volume
        if volume is None:
            return ()
        opts = pulumi.ResourceOptions(
            parent=self, provider=host.provider, retain_on_delete=host.is_retired
        )
        made = docker.Volume(f"{name}-{volume.part}", name=volume.name, opts=opts)
        return (made,)


def _before(spec: ContainerSpec, others: Mapping[str, Container]) -> list[pulumi.Resource]:
    """Return what has to be there before a container, and is removed after it."""
    found: list[pulumi.Resource] = []
    for name in spec.after:
        # The join gate stands behind the containers themselves.
        found += [] if spec.after_join else [others[name].container]
        found.append(others[name].kept_log)
    return found


def _trigger(spec: ContainerSpec, others: Mapping[str, Container]) -> Any:
    if spec.fingerprint is not None or spec.replaced_with is None:
        return spec.fingerprint
    if isinstance(spec.replaced_with, str):
        return others[spec.replaced_with].container.id
    return [others[name].container.id for name in spec.replaced_with]


def _shared_namespaces(spec: ContainerSpec, others: Mapping[str, Container]) -> dict[str, Any]:
    if spec.shares is None:
        return {}
    namespace = pulumi.Output.concat("container:", others[spec.shares].container.id)
    return {"ipc_mode": namespace, "pid_mode": namespace}
