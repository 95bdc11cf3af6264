"""What a look at the hosts found."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class _FactsModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class HostFacts(_FactsModel):
    """One host as it is."""

    name: str
    problem: str | None = None
    """Why SSH could not look at the host, in its own words; the other facts are empty then."""
    docker_problem: str | None = None
    """What Docker answered instead of its version, or None."""
    interfaces: dict[str, str] = {}
    """Name of the network interface by IPv4 address."""
    listening: frozenset[int] = frozenset()
    """TCP ports that something listens on, the deployment's own containers left out."""
    has_model: bool = False
    """Whether the model's folder holds a config.json."""


class ImageFacts(_FactsModel):
    """What the head's Docker says of the image."""

    digest: str | None = None
    """The digest (``sha256:…``) that the reference stands for, or None when it is not known."""
    problem: str | None = None
    """Why the digest is not known, in Docker's words."""


class ModelFacts(_FactsModel):
    """What the model's own files say."""

    config: dict[str, Any]
    """Its ``config.json``."""
    weights_bytes: int | None = None
    """Bytes of all tensors by the headers of the safetensors files, or None: not read."""


class StartFacts(_FactsModel):
    """What an earlier start logged of its memory. Sizes in bytes, for one rank."""

    start: dict[str, Any]
    """What tells this start from others whose memory is another."""
    weights_bytes: int | None
    non_kv_bytes: int
    """What vLLM asked for less what it left for the KV cache."""
    when: str
    """The day."""


class Facts(_FactsModel):
    """All hosts, the image, the model and earlier starts."""

    hosts: tuple[HostFacts, ...] = ()
    """Empty when nobody looked at them."""
    image: ImageFacts = ImageFacts()
    model: ModelFacts | None = None
    """None when nobody has read a config.json."""
    starts: tuple[StartFacts, ...] = ()
