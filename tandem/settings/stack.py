"""The whole stack file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr

from tandem.settings.backends import MpSettings, RaySettings
from tandem.settings.base import SettingsModel
from tandem.settings.hosts import HostSettings
from tandem.settings.image import ImageSettings
from tandem.settings.model import ModelSettings
from tandem.settings.restarts import RestartSettings
from tandem.settings.serve import ReleaseSettings, ServeSettings
from tandem.units import GIB, Bytes, default_in_schema


def _switch(value: object) -> object:
    """Read YAML's ``on`` and ``off``, which Pulumi hands over as text."""
    return {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value


def _spell_switch(value: bool) -> str:
    return "on" if value else "off"


Switch = Annotated[
    bool,
    Field(json_schema_extra=default_in_schema(_spell_switch)),
    BeforeValidator(_switch, json_schema_input_type=bool | Literal["on", "off"]),
]
"""Yes or no, written as ``on`` or ``off``."""


class Settings(SettingsModel):
    """Everything that a stack file declares, one field per ``tandem:`` key."""

    hosts: Annotated[tuple[HostSettings, ...], Field(min_length=1)]
    """The Docker hosts; the first one has the API."""
    image: ImageSettings
    """The container image that holds vLLM, and Ray where that is the backend; the same on every
    host."""
    model: ModelSettings
    """The weights to serve and the name to serve them under."""
    serve: ServeSettings = ServeSettings()
    """How vLLM serves."""
    ray: RaySettings = RaySettings()
    """How Ray spans the hosts."""
    mp: MpSettings = MpSettings()
    """How vLLM's own processes span the hosts."""
    restarts: RestartSettings = RestartSettings()
    """How often a container may start again before it stays down."""
    release: ReleaseSettings = ReleaseSettings()
    """When a host counts as free again after a ``destroy``."""
    backend: Literal["ray", "mp"] = "ray"
    """What carries tensor and pipeline parallelism over several hosts. With ``ray`` the image
    has to hold Ray; ``mp`` is vLLM's own processes on every host, which need vLLM 0.12 or newer and
    the same number of GPUs on all hosts."""
    api_key: Annotated[SecretStr, Field(min_length=1)] | None = None
    """Key that clients have to send. Set it with ``pulumi config set --secret tandem:apiKey``."""
    rdma: bool = True
    """Give containers ``/dev/infiniband``, ``IPC_LOCK`` and unlimited locked memory."""
    shm_size: Bytes = 10 * GIB
    """Size limit of each container's ``/dev/shm``; only what is used takes memory."""
    planner: Literal["enforce", "warn"] = "enforce"
    """Whether memory that does not fit is an error (``enforce``) or only a warning (``warn``)."""
    survey: Switch = True
    """Look at the hosts before each preview and up (``on`` or ``off``)."""

    @property
    def first_host(self) -> HostSettings:
        """Return the first host, which has the API."""
        return self.hosts[0]

    @property
    def spans_hosts(self) -> bool:
        """Tell whether there is more than one host."""
        return len(self.hosts) > 1

    @property
    def backend_port(self) -> int:
        """Return the port of the first host where the backend's processes meet."""
        return self.mp.port if self.backend == "mp" else self.ray.port

    @property
    def world_size(self) -> int:
        """Return the number of ranks, tensor parallel times pipeline parallel."""
        return self.serve.tensor_parallel * self.serve.pipeline_parallel
