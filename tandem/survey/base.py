"""What all facts share: no unknown fields, no change after reading."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FactsModel(BaseModel):
    """Something that was seen. Sizes in bytes; None is what could not be seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")
