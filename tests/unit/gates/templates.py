"""What Docker makes of `--format`: as much of Go's templates as Tandem writes."""

from __future__ import annotations

import json
import re
from typing import Any


def render(template: str, data: dict[str, Any]) -> str:
    """Return the text of a template. Raises KeyError for a field that Docker does not have."""
    return re.sub(r"\{\{(.*?)\}\}", lambda found: _text(found[1].strip(), data), template)


def _text(expression: str, data: dict[str, Any]) -> str:
    if expression.startswith("json "):
        return json.dumps(_value(expression.removeprefix("json "), data))
    return str(_value(expression, data))


def _value(expression: str, data: dict[str, Any]) -> Any:
    expression = expression.strip().removeprefix("(").removesuffix(")")
    if found := re.fullmatch(r'index (\S+) "(.+)"', expression):
        return _value(found[1], data).get(found[2], "")
    if found := re.fullmatch(r'\.Label "(.+)"', expression):
        return data["Labels"].get(found[1], "")
    for name in expression.removeprefix(".").split("."):
        data = data[name]
    return data
