"""``tandem:serve`` and ``tandem:release``: how vLLM serves, and when a host is free again."""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated

from pydantic import Field

from tandem.settings.base import Environment, SettingsModel
from tandem.units import Bytes, Seconds

Port = Annotated[int, Field(ge=1, le=65535)]


class ServeSettings(SettingsModel):
    """vLLM's own settings, named as vLLM names them, in camelCase."""

    tensor_parallel: Annotated[int, Field(ge=1)] = 1
    """GPUs that share each layer."""
    pipeline_parallel: Annotated[int, Field(ge=1)] = 1
    """Stages that the layers are split into."""
    max_model_len: Annotated[int, Field(ge=1)] | None = None
    """Longest request in tokens, prompt and answer together; the model's own when absent."""
    max_num_seqs: Annotated[int, Field(ge=1)] | None = None
    """Most requests in one step; vLLM's default when absent."""
    max_num_batched_tokens: Annotated[int, Field(ge=1)] | None = None
    """Most tokens in one step; vLLM's default when absent."""
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of each GPU's memory that vLLM may use, above 0 to 1; vLLM's default when absent."""
    kv_cache_dtype: str | None = None
    """Data type of the KV cache; vLLM's default when absent."""
    kv_cache_memory: Bytes | None = None
    """Size of each GPU's KV cache; the utilization does not count then. When absent, vLLM gives it
    what the utilization leaves."""
    port: Port = 8000
    """Port of the OpenAI-compatible API on the first host."""
    listen: IPv4Address | None = None
    """Address of the first host that the API listens on; its ``address`` when absent."""
    args: tuple[str, ...] = ()
    """More arguments for ``vllm serve``, word for word."""
    env: Environment = {}
    """More environment variables of the server's container; with ``backend: mp`` of each host's."""
    ready_timeout: Seconds = 45 * 60
    """How long an ``up`` waits for the first answer."""
    stall_timeout: Seconds = 10 * 60
    """How long requests may run while no token comes and nothing else of the engine moves; then the
    server is ended, which counts as a restart. The first request may compile kernels for minutes,
    and vLLM's own limit for a step is 5 minutes (``VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS``). Not
    watched with ``image.entrypoint: image``."""


class ReleaseSettings(SettingsModel):
    """When a ``destroy`` takes a host for free again."""

    memory: Bytes | None = None
    """Memory that may be missing after the containers are gone, with no process that holds it.
    When absent, 2 GiB, or 5 % of the host's memory where that is more."""
    timeout: Seconds = 2 * 60
    """How long a ``destroy`` waits for it."""
