"""What earlier starts logged, from the file that the ready gate keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tandem.errors import InvalidStack
from tandem.findings import error
from tandem.survey.facts import StartFacts

if TYPE_CHECKING:
    from pathlib import Path


def earlier_starts(path: Path) -> tuple[StartFacts, ...]:
    """Read the file; none when there is none.

    Raises InvalidStack when it is not what the gate writes.
    """
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return tuple(
            StartFacts(
                start=start["start"],
                weights_bytes=start["weightsBytes"],
                non_kv_bytes=start["nonKvBytes"],
                when=start["when"],
            )
            for start in known
        )
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError, ValidationError):
        message, fix = "this is not what a start wrote", "restore the file or remove it"
        raise InvalidStack([error("starts-unreadable", str(path), message, fix)]) from None
