"""Pulumi.yaml describes the same keys, defaults and types as the settings, in the same words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tandem.settings import Settings
from tandem.settings.schema import settings_schema
from tests.builders import changed, load

PROJECT: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[2] / "Pulumi.yaml").read_text(encoding="utf-8")
)
KEYS: dict[str, dict[str, Any]] = {
    key.removeprefix("tandem:"): described
    for key, described in PROJECT["config"].items()
    if key.startswith("tandem:")
}
SCHEMA: dict[str, Any] = settings_schema()


def test_every_key_with_a_value_is_described_in_the_same_order() -> None:
    # A key that is described without a default would be required.
    without = {info.alias for info in Settings.model_fields.values() if info.default is None}
    described = [key for key in SCHEMA["properties"] if key not in without]
    assert list(KEYS) == described, "describe each key in Pulumi.yaml, too"


@pytest.mark.parametrize("key", KEYS)
def test_what_has_no_default_there_is_required(key: str) -> None:
    assert ("default" not in KEYS[key]) == (key in SCHEMA["required"])


@pytest.mark.parametrize("key", [key for key, described in KEYS.items() if "default" in described])
def test_a_default_there_is_the_settings_own(key: str) -> None:
    field = next(name for name, info in Settings.model_fields.items() if info.alias == key)
    written = load(changed(1, {key: KEYS[key]["default"]}))
    assert getattr(written, field) == Settings.model_fields[field].default


@pytest.mark.parametrize("key", KEYS)
def test_a_type_there_is_one_that_the_settings_read(key: str) -> None:
    assert KEYS[key]["type"] in set(_types(SCHEMA["properties"][key]))


@pytest.mark.parametrize("key", KEYS)
def test_a_description_there_is_the_first_sentence_of_the_docstring(key: str) -> None:
    docstring = SCHEMA["properties"][key]["description"].replace("`", "")
    first = re.split(r"\.(?:\s+(?=[A-Z])|$)", docstring)[0]
    assert KEYS[key]["description"] == first, (
        f"write these words in Pulumi.yaml, or others below {key} in tandem/settings/stack.py"
    )


def _types(schema: dict[str, Any]) -> list[str]:
    if "$ref" in schema:
        return _types(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return [name for branch in schema["anyOf"] for name in _types(branch)]
    return [schema["type"]]
