"""``tandem:model``: the weights to serve and the name to serve them under."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tandem.settings.base import SettingsModel
from tandem.units import Bytes


class ModelSource(SettingsModel):
    """Where the weights are."""

    path: Annotated[str, Field(pattern=r"^/[^:,]+$")]
    """Absolute folder on every host that holds ``config.json`` and the weights."""


class ModelSettings(SettingsModel):
    """The model."""

    id: Annotated[str, Field(min_length=1)]
    """The model's name at its publisher, e.g. ``Qwen/Qwen3.5-122B-A10B-FP8``."""
    source: ModelSource
    """Where the weights are."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """Commit of the files at their publisher, 40 hex digits. With another one the files are
    compared with another manifest, and all containers are replaced."""
    served_name: Annotated[str, Field(min_length=1)] | None = None
    """The name that clients use; the model's id when absent."""
    config: Annotated[str, Field(min_length=1)] | None = None
    """Path of a copy of the model's ``config.json``, relative to the stack file. Memory is not
    weighed without it."""
    weights: Bytes | None = None
    """Size of the weights, all files together; counted from ``config.json`` when absent."""

    @property
    def name(self) -> str:
        """Return the name that clients use."""
        return self.served_name or self.id
