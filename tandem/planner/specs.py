"""The parts of a plan: what is to exist on the hosts, down to every argument."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, SecretStr

if TYPE_CHECKING:
    from collections.abc import Iterable


class SpecModel(BaseModel):
    """A frozen part of a plan."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Rank(SpecModel):
    """One GPU's share of the model."""

    rank: int
    host: str
    stage: int
    """Pipeline stage, from 0."""


class VolumeSpec(SpecModel):
    """A Docker volume; ``device`` binds it to a folder of the host."""

    name: str
    device: str | None = None
    part: str = ""
    """The end of its resource's name, where it is there for one container."""
    is_kept: bool = False
    """Whether it stays on the host when the stack is destroyed."""


class Mount(SpecModel):
    """A volume at a place in a container."""

    volume: str
    target: str
    read_only: bool


class Upload(SpecModel):
    """A file that is put into a container before it starts."""

    path: str
    content: str


class SecretUpload(SpecModel):
    """A file whose content must not be shown."""

    path: str
    content: SecretStr


class HealthCheck(SpecModel):
    """What Docker runs in a container to tell whether it is well. Times in seconds."""

    command: str
    interval: int
    timeout: int
    retries: int
    start_period: int
    """How long a failure is no failure yet."""


class ContainerSpec(SpecModel):
    """A container, whole, and how it comes and goes. Sizes in bytes, times in seconds."""

    name: str
    host: str
    role: str
    """One word for people, in a label, in status and logs: ``server``, ``worker``."""
    kind: str
    """The type of its component in the engine's state, e.g. ``VllmServer``."""
    part: str
    """The end of its resource's name, after stack and host."""
    entrypoint: tuple[str, ...] | None
    """None leaves the image's own."""
    command: tuple[str, ...]
    env: dict[str, str]
    mounts: tuple[Mount, ...]
    uploads: tuple[Upload, ...] = ()
    secret_uploads: tuple[SecretUpload, ...] = ()
    gpus: int | tuple[str, ...]
    """How many, or the device ids."""
    shm_bytes: int
    rdma: bool
    labels: dict[str, str]
    restart_limit: int = 0
    """How often Docker may start it again when it fails, in all; 0 sets no limit."""
    health: HealthCheck | None = None
    grace_seconds: int = 30
    """How long a stop may take before the processes are killed."""
    ranks: tuple[int, ...] = ()
    """The ranks whose processes run in it."""
    volume: VolumeSpec | None = None
    """A volume that is there for it, and for those that share its namespaces."""
    shares: str | None = None
    """The container whose process and IPC namespaces it shares; None has its own."""
    is_shared: bool = False
    """Whether others share its namespaces."""
    after: tuple[str, ...] = ()
    """The containers that have to be there before it, and go after it."""
    after_join: bool = False
    """Whether it starts only when the join gate is done."""
    replaced_with: str | tuple[str, ...] | None = None
    """The container, or the containers, whose replacement replaces it. The state keeps the form:
    one and a list of one are not the same there."""
    fingerprint: str | None = None
    """Another one replaces it."""


_NOT_HASHED = {
    *("kind", "part", "ranks", "volume", "shares", "is_shared"),
    *("after", "after_join", "replaced_with", "fingerprint"),
}
"""What says how a container comes and goes, and not what Docker runs."""


def fingerprint(specs: Iterable[ContainerSpec]) -> str:
    """Return one hash over several containers: it changes when any of them does."""
    digest = hashlib.sha256()
    for spec in specs:
        # The states of running deployments have hashes with this field in them.
        said = {**spec.model_dump(mode="json", exclude=_NOT_HASHED), "beside_head": False}
        # The order in which variables were written makes no other container.
        digest.update(json.dumps(said, sort_keys=True).encode())
    return digest.hexdigest()[:16]
