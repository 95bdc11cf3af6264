"""The log of one container, kept on its host before the container goes."""

from __future__ import annotations

from dataclasses import replace

import pulumi
import pulumi_docker as docker
from pulumi_command import local

from components.docker_host import DockerHost


def kept_log(
    name: str, container: str, made: docker.Container, host: DockerHost, parent: pulumi.Resource
) -> local.Command:
    """Declare what keeps the log of ``container``: the engine deletes it before the container.

    What has to be removed before the container depends on this.
    """
    spec = host.kept[container]
    return local.Command(
        f"{name}-log",
        create="true",
        delete="python3 -m tandem.gates.keep",
        stdin=made.id.apply(lambda id: replace(spec, id=id).to_json()),
        triggers=[made.id],
        logging=local.Logging.STDERR,
        add_previous_output_in_env=False,
        opts=pulumi.ResourceOptions(
            parent=parent,
            delete_before_replace=True,
            retain_on_delete=host.is_retired,
        ),
    )
