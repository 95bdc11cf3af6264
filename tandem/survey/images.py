"""What images hold, from the file that the image gate keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tandem.errors import InvalidStack
from tandem.findings import error
from tandem.survey.facts import ImageContent

if TYPE_CHECKING:
    from pathlib import Path


def known_images(path: Path) -> tuple[ImageContent, ...]:
    """Read the file; none when there is none.

    Raises InvalidStack when it is not what the gate writes.
    """
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return tuple(ImageContent(**image) for image in known)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, ValidationError):
        message, fix = "this is not what the image gate wrote", "restore the file or remove it"
        raise InvalidStack([error("images-unreadable", str(path), message, fix)]) from None
