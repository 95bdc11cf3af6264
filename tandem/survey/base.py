"""What all facts share: no unknown fields, no change after reading; how output is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Iterable


class FactsModel(BaseModel):
    """Something that was seen. Sizes in bytes; None is what could not be seen."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def whole(text: str) -> int | None:
    """Return a whole number, or None when the text is not one."""
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) else None


NOT_RUN = "the host did not run the look's shell script"

_TITLE, _LAST = "\n@@", "ended"


def sections(printed: str, titles: Iterable[str]) -> dict[str, str] | None:
    """Return what a look's shell script printed under each of its titles, empty where it did not.

    A section starts with ``@@TITLE``. None where the last one is missing: the script did not run,
    or not to its end.
    """
    parts = (part.partition("\n") for part in printed.split(_TITLE)[1:])
    found = {title: text.strip("\n") for title, _, text in parts}
    return {title: found.get(title, "") for title in titles} if _LAST in found else None


def last_title(printed: str) -> str:
    """Return the section in which a script stopped, empty where it printed none."""
    return printed.rpartition(_TITLE)[2].partition("\n")[0]
