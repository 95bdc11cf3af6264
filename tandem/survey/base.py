"""What all facts share: no unknown fields, no change after reading; how output is read."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict


class FactsModel(BaseModel):
    """Something that was seen. Sizes in bytes; None is what could not be seen."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def whole(text: str) -> int | None:
    """Return a whole number, or None when the text is not one."""
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) else None


def sections(printed: str) -> dict[str, str]:
    """Return by title what a look's shell script printed; each section starts with ``@@TITLE``."""
    parts = (part.partition("\n") for part in printed.split("\n@@")[1:])
    return {title: text.strip("\n") for title, _, text in parts}
