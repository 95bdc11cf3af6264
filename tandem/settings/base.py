"""What all settings share: camelCase keys, no unknown keys, no change after reading."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel


class SettingsModel(BaseModel):
    """A group of keys of the stack file."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=False,
        defer_build=True,
        use_attribute_docstrings=True,
    )


def _number_as_text(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


Text = Annotated[str, BeforeValidator(_number_as_text, json_schema_input_type=str | int | float)]
"""Text that YAML may have read as a number, such as ``3`` for an environment variable."""

Environment = dict[str, Text]
