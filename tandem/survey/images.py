"""What images hold, from the files that the image gate keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tandem.errors import InvalidStack
from tandem.findings import error
from tandem.survey.facts import ImageContent

if TYPE_CHECKING:
    from pathlib import Path


def known_images(folder: Path) -> tuple[ImageContent, ...]:
    """Read the files of a folder; none when there is none.

    Raises InvalidStack when one is not what the gate writes.
    """
    return tuple(_known_image(path) for path in sorted(folder.glob("*.json")))


def _known_image(path: Path) -> ImageContent:
    try:
        return ImageContent(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, ValidationError):
        message, fix = "this is not what the image gate wrote", "restore the file or remove it"
        raise InvalidStack([error("image-unreadable", str(path), message, fix)]) from None
