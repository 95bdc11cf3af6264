"""Real and changed config.json files for the planner's tests."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from tandem.planner.model.architecture import Architecture, read_architecture

CONFIGS = Path(__file__).parent / "cases" / "configs"

FP8: dict[str, Any] = {
    "quantization_config": {
        "quant_method": "fp8",
        "weight_block_size": [128, 128],
        "modules_to_not_convert": ["lm_head", "visual"],
    }
}
AWQ: dict[str, Any] = {
    "quantization_config": {
        "quant_method": "awq",
        "bits": 4,
        "group_size": 128,
        "modules_to_not_convert": ["lm_head"],
    }
}


@cache
def _text(name: str) -> str:
    return (CONFIGS / f"{name}.json").read_text()


def config(name: str) -> dict[str, Any]:
    """Return a real config.json."""
    data: dict[str, Any] = json.loads(_text(name))
    return data


def architecture(name: str, changes: dict[str, Any] | None = None) -> Architecture:
    """Return what is read of a real config.json with some keys changed."""
    return read_architecture({**config(name), **(changes or {})})
