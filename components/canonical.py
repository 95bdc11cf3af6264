"""From a container's spec to pulumi-docker's arguments, spelled as Docker gives them back.

Several inputs are compared as literal text with what Docker answers, so another spelling of the
same thing would be a difference at every ``up``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi
import pulumi_docker as docker

from tandem.planner import ContainerSpec
from tandem.planner.specs import HealthCheck
from tandem.units import MIB


def container_arguments(
    spec: ContainerSpec,
    volumes: Mapping[str, pulumi.Output[str]],
    labels: Mapping[str, pulumi.Output[str]],
) -> dict[str, Any]:
    """Return the keyword arguments of ``docker.Container`` that follow from the spec.

    ``volumes`` are names that resources give, by the name itself: where such a volume is replaced,
    the engine has to know that the container is in its way. ``labels`` come to those of the spec.
    """
    both: dict[str, pulumi.Input[str]] = {**spec.labels, **labels}
    return {
        "name": spec.name,
        "entrypoints": list(spec.entrypoint) if spec.entrypoint is not None else None,
        "command": list(spec.command),
        "envs": [f"{name}={value}" for name, value in sorted(spec.env.items())],
        "mounts": [
            docker.ContainerMountArgs(
                type="volume",
                source=volumes.get(mount.volume, mount.volume),
                target=mount.target,
                read_only=mount.read_only,
            )
            for mount in spec.mounts
        ],
        "uploads": [
            *(
                docker.ContainerUploadArgs(file=upload.path, content=upload.content)
                for upload in spec.uploads
            ),
            *(
                docker.ContainerUploadArgs(
                    file=upload.path,
                    content=pulumi.Output.secret(upload.content.get_secret_value()),
                )
                for upload in spec.secret_uploads
            ),
        ],
        "device_requests": [_gpus(spec.gpus)],
        "network_mode": "host",
        "labels": [
            docker.ContainerLabelArgs(label=name, value=both[name]) for name in sorted(both)
        ],
        "restart": "on-failure",
        "max_retry_count": spec.restart_limit,
        "must_run": True,
        # Unset, a delete kills at once (pulumi-docker reads this, not stop_timeout).
        "destroy_grace_seconds": spec.grace_seconds,
        "log_driver": "json-file",
        "log_opts": {"max-size": "50m", "max-file": "3"},
        **({"healthcheck": _health(spec.health)} if spec.health else {}),
        **(_own_namespaces(spec) if spec.shares is None else {}),
        **(_rdma() if spec.rdma else {}),
    }


def _own_namespaces(spec: ContainerSpec) -> dict[str, Any]:
    return {
        # vLLM and Ray leave children behind that only a real init reaps.
        "init": True,
        "ipc_mode": "shareable" if spec.is_shared else "private",
        "shm_size": spec.shm_bytes // MIB,
    }


def _health(check: HealthCheck) -> docker.ContainerHealthcheckArgs:
    return docker.ContainerHealthcheckArgs(
        tests=["CMD-SHELL", check.command],
        interval=go_duration(check.interval),
        timeout=go_duration(check.timeout),
        retries=check.retries,
        start_period=go_duration(check.start_period),
        start_interval="0s",
    )


def go_duration(seconds: int) -> str:
    """Write a duration as Go's ``Duration.String`` does: ``15s``, ``1m0s``, ``1h0m0s``."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _gpus(gpus: int | tuple[str, ...]) -> docker.ContainerDeviceRequestArgs:
    if isinstance(gpus, int):
        return docker.ContainerDeviceRequestArgs(driver="nvidia", count=gpus, capabilities=["gpu"])
    return docker.ContainerDeviceRequestArgs(
        driver="nvidia", device_ids=list(gpus), capabilities=["gpu"]
    )


def _rdma() -> dict[str, Any]:
    return {
        "devices": [
            docker.ContainerDeviceArgs(
                host_path="/dev/infiniband", container_path="/dev/infiniband", permissions="rwm"
            )
        ],
        "capabilities": docker.ContainerCapabilitiesArgs(adds=["CAP_IPC_LOCK"]),
        "ulimits": [docker.ContainerUlimitArgs(name="memlock", soft=-1, hard=-1)],
    }
