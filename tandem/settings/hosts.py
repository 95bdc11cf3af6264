"""``tandem:hosts``: the machines with Docker."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated

from pydantic import Field

from tandem.settings.base import Environment, SettingsModel, Text
from tandem.ssh import SshTarget
from tandem.units import Bytes


class MemorySettings(SettingsModel):
    """The memory of a host's GPUs, for planning without a look at the host."""

    total: Bytes
    """Memory of one GPU as CUDA counts it; on unified memory that of the host."""
    unified: bool = False
    """Whether GPU and CPU share one memory, as on DGX Spark."""


class HostSettings(SettingsModel):
    """One Docker host; the first one in the list has the API."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length=40)]
    """Short name in lower case; it is part of every resource name of this host."""
    ssh: Annotated[
        str, Field(pattern=r"^([A-Za-z0-9_][^\s/:]*|ssh://[A-Za-z0-9_][^\s/:]*(:\d+)?)$")
    ]
    """The host as typed after ``ssh``: an alias, ``user@host``, or ``ssh://user@host:port``."""
    ssh_options: tuple[str, ...] = ()
    """More words for ``ssh``, each an item of its own; ``~/.ssh/config`` is the better place."""
    address: IPv4Address
    """IPv4 address by which the other hosts reach it (fabric address)."""
    interface: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,15}$")] | None = None
    """Network interface that holds the address; found from the address when absent."""
    gpus: Annotated[int, Field(ge=1)] | Annotated[tuple[Text, ...], Field(min_length=1)] = 1
    """How many GPUs to use, or a list of their device ids."""
    memory: MemorySettings | None = None
    """Memory of its GPUs; found on the host when absent."""
    env: Environment = {}
    """Environment variables of this host's containers alone; never copied to another host."""

    retired: bool = False
    """Let a lost host go: ``pulumi destroy --run-program`` forgets what is on it and does not ask
    it. An ``up`` does the same once the host is taken out of the file, and needs one ``up`` with
    this set before."""

    @property
    def gpu_count(self) -> int:
        """Return the number of GPUs declared."""
        return self.gpus if isinstance(self.gpus, int) else len(self.gpus)

    @property
    def target(self) -> SshTarget:
        """Return the way to the host."""
        return SshTarget(self.ssh, self.ssh_options)
