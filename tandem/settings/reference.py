"""The reference of a stack file's keys, made from the same words as its schema."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tandem.settings.schema import settings_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings.schema import Schema

_HEAD = """\
# Keys of a stack file

Written by `python -m tandem schema --markdown` from the docstrings in `tandem/settings`; change them there.

Every key starts with `tandem:` and stands under `config:`. An unknown key is an error.
Sizes are `10GiB` or bytes, durations `45m` or seconds. A required key of a group is required where the group is there.
The product of `serve.tensorParallel` and `serve.pipelineParallel` is the number of GPUs in use.

| Key | Default | Meaning |
|---|---|---|
"""  # noqa: E501


def reference() -> str:
    """Return a Markdown page with a row for each key and each group of keys."""
    settings = settings_schema()
    return _HEAD + "".join(f"{row}\n" for row in _rows(settings, settings["$defs"]))


def _rows(group: Schema, groups: Schema, prefix: str = "") -> Iterator[str]:
    for name, key in group["properties"].items():
        inner, ending = _inner_group(key)
        default = "required" if name in group.get("required", ()) else _default(key)
        # pydantic leaves out a description that repeats the group's own.
        meaning = (groups.get(inner, {}) | key).get("description", "").replace("|", r"\|")
        yield f"| `{prefix}{name}` | {default} | {meaning} |"
        if inner:
            yield from _rows(groups[inner], groups, f"{prefix}{name}{ending}")


def _inner_group(key: Schema) -> tuple[str, str]:
    """Return the name of the group that the key holds, or "", and what leads to its keys."""
    if "$ref" in key:
        return key["$ref"].rpartition("/")[2], "."
    if "items" in key:
        return _inner_group(key["items"])[0], "[]."
    inner = (_inner_group(branch) for branch in key.get("anyOf", ()))
    return next((found for found in inner if found[0]), ("", ""))


def _default(key: Schema) -> str:
    if "default" not in key:
        return "-"
    value = key["default"]
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"
