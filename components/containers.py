"""One container on one host, and when it is replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_docker as docker

from components.canonical import container_arguments
from components.docker_host import DockerHost
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


def container(
    name: str,
    spec: ContainerSpec,
    host: DockerHost,
    parent: pulumi.Resource,
    *,
    depends_on: Sequence[pulumi.Resource],
    trigger: Any = None,
    **extra: Any,
) -> docker.Container:
    """Declare the container of ``spec`` on ``host``."""
    hook = clearing_hook(name, host.kept[spec.name].watched)
    return docker.Container(
        name,
        image=host.image.repo_digest,
        **container_arguments(spec, host.volumes, {IDENTITY: host.identity}),
        **extra,
        opts=replacement_options(
            parent,
            host.provider,
            (host.image, host.model_volume, host.release, *depends_on),
            trigger,
            is_retired=host.is_retired,
            hooks=pulumi.ResourceHookBinding(before_create=[hook]),
        ),
    )
