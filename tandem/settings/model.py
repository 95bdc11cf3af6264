"""``tandem:model``: the weights to serve and the name to serve them under."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from tandem.settings.base import SettingsModel
from tandem.units import Bytes

_COMMIT = r"^[0-9a-f]{40}$"
_ONE_SOURCE: dict[str, Any] = {
    "oneOf": [{"required": ["path"]}, {"required": ["hub"]}],
    "dependentRequired": {"endpoint": ["hub"]},
}
_OF_THE_HUB: dict[str, Any] = {
    "if": {"properties": {"source": {"required": ["hub"]}}},
    "then": {"required": ["revision"]},
    "else": {"properties": {"deleteOnDestroy": {"const": False}}},
}


class ModelSource(SettingsModel):
    """Where the weights are: ``path`` or ``hub``, exactly one."""

    model_config = ConfigDict(json_schema_extra=_ONE_SOURCE)

    path: Annotated[str, Field(pattern=r"^/[^:,]+$")] | None = None
    """Absolute folder on every host that holds ``config.json`` and the weights."""
    hub: Literal[True] | None = None
    """``true``: every host fetches the files from the Hub into a Docker volume of its own, which
    stays when the stack is destroyed. ``model.revision`` is required then."""
    endpoint: Annotated[str, Field(pattern=r"^https?://[^\s/@]+(/[^\s@]*[^\s/@])?$")] | None = None
    """Address of the Hub, for ``hub``; when absent, the operator's variable ``HF_ENDPOINT``, else
    the public Hub."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.path is None) == (self.hub is None):
            raise ValueError("write either path, a folder of the hosts, or hub: true")
        if self.endpoint is not None and self.hub is None:
            raise ValueError("endpoint is the Hub's address: it goes with hub: true alone")
        return self

    def on_host(self, stack: str, host: str) -> str:
        """Return where the files are on a host: the folder, or the name of a Docker volume.

        The volume has a name of its own: as it stays on the host, it would be taken for the one
        that is bound to a folder.
        """
        return self.path or f"tandem-{stack}-{host}-hub"


class ModelSettings(SettingsModel):
    """The model."""

    model_config = ConfigDict(json_schema_extra=_OF_THE_HUB)

    id: Annotated[str, Field(min_length=1)]
    """The model's name at its publisher, e.g. ``Qwen/Qwen3.5-122B-A10B-FP8``."""
    source: ModelSource
    """Where the weights are: ``path`` or ``hub``, exactly one."""
    revision: (
        Annotated[str, Field(min_length=1), WithJsonSchema({"type": "string", "pattern": _COMMIT})]
        | None
    ) = None
    """Commit of the files at their publisher, 40 hex digits; required with ``source.hub``. With
    another one the files are compared with another manifest, and all containers are replaced."""
    served_name: Annotated[str, Field(min_length=1)] | None = None
    """The name that clients use; the model's id when absent."""
    config: Annotated[str, Field(min_length=1)] | None = None
    """Path of a copy of the model's ``config.json``, relative to the stack file. Memory is not
    weighed without it."""
    weights: Bytes | None = None
    """Size of the weights, all files together; counted from ``config.json`` when absent."""
    delete_on_destroy: bool = False
    """Whether destroying the stack also removes the volumes that ``source.hub`` filled; it counts
    from the next ``up`` on. What is in a folder (``source.path``) always stays."""

    @field_validator("delete_on_destroy")
    @classmethod
    def _is_ours(cls, delete: bool, info: ValidationInfo) -> bool:
        source = info.data.get("source")
        if delete and source is not None and not source.hub:
            raise ValueError("what is in a folder always stays: it goes with source.hub alone")
        return delete

    @field_validator("revision")
    @classmethod
    def _is_commit(cls, revision: str | None, info: ValidationInfo) -> str | None:
        """Take a name only where the Hub can be asked for its commit."""
        source = info.data.get("source")
        if revision is None or is_commit(revision) or (source is not None and source.hub):
            return revision
        raise ValueError("write the commit, 40 hex digits, and no branch or tag: they move")

    @property
    def name(self) -> str:
        """Return the name that clients use."""
        return self.served_name or self.id


def is_commit(revision: str) -> bool:
    """Tell whether a revision is a commit in full, which never stands for other files."""
    return re.fullmatch(_COMMIT, revision) is not None
