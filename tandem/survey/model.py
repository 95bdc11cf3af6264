"""The model's config.json, from a copy beside the stack file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tandem.errors import InvalidStack
from tandem.findings import error
from tandem.survey.facts import ModelFacts

if TYPE_CHECKING:
    from pathlib import Path

    from tandem.settings import Settings


def declared_model(settings: Settings, folder: Path) -> ModelFacts | None:
    """Read the file that ``model.config`` names, relative to the stack file's folder.

    None when the key is absent. Raises InvalidStack when the file can't be read as JSON.
    """
    if settings.model.config is None:
        return None
    path = folder / settings.model.config
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise ValueError("it holds no JSON object")
    except (OSError, ValueError) as problem:
        words = problem.strerror if isinstance(problem, OSError) else str(problem)
        message, fix = f"{path}: {words}", "correct the path or the file"
        unreadable = error("config-unreadable", "tandem:model.config", message, fix)
        raise InvalidStack([unreadable]) from None
    return ModelFacts(config=config)
