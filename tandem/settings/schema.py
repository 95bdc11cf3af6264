"""The JSON schema of a stack file, for editors and for the reference of its keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

from tandem.settings.load import NAMESPACE
from tandem.settings.stack import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

Schema = dict[str, Any]

_PULUMIS_OWN: Schema = {
    "secretsprovider": {"description": "What encrypts this stack's secrets.", "type": "string"},
    "encryptedkey": {"description": "The data key of a secrets provider.", "type": "string"},
    "encryptionsalt": {"description": "The salt of the passphrase.", "type": "string"},
    "environment": {"description": "Environments of Pulumi ESC to import."},
}
"""Pulumi's keys beside ``config``, from
https://www.pulumi.com/docs/iac/concepts/projects/stack-settings-file/ (November 2026)."""

_OTHER_NAMESPACES = rf"^(?!{NAMESPACE})[^:]+:."

_AS_TEXT: dict[str, Schema] = {
    "boolean": {"type": "string", "enum": ["true", "false"]},
    "integer": {"type": "string", "pattern": r"^-?\d+$"},
    "number": {"type": "string", "pattern": r"^-?\d+(\.\d+)?$"},
}
"""What ``pulumi config set`` writes for the value of a whole key."""


_ENCRYPTED: Schema = {
    "type": "object",
    "properties": {"secure": {"type": "string"}},
    "required": ["secure"],
    "additionalProperties": False,
}


class _Generator(GenerateJsonSchema):
    """pydantic's generator, without what an editor would show or write to no use."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave out titles: they repeat the key."""
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Leave out the name of the class."""
        described = super().model_schema(schema)
        described.pop("title", None)
        return described

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Keep the defaults that can be written down: no null, and no whole group."""
        described = super().default_schema(schema)
        if described.get("default") is None or "$ref" in described:
            described.pop("default", None)
        return described


def settings_schema() -> Schema:
    """Return the schema of the keys without their namespace, groups under ``$defs``."""
    settings = Settings.model_json_schema(by_alias=True, schema_generator=_Generator)
    for group in (settings, *settings["$defs"].values()):
        for described in (group, *group.get("properties", {}).values()):
            if "description" in described:
                described["description"] = _in_markdown(described["description"])
    return settings


def stack_file_schema() -> Schema:
    """Return the schema (draft 2020-12) of a whole ``Pulumi.<stack>.yaml``.

    Keys of other namespaces and Pulumi's own keys may have any value.
    """
    settings = settings_schema()
    config = {
        "description": "Settings of the stack; those of Tandem start with tandem:.",
        "type": "object",
        "properties": {
            NAMESPACE + key: _as_written(value) for key, value in settings["properties"].items()
        },
        "required": [NAMESPACE + key for key in settings["required"]],
        "patternProperties": {_OTHER_NAMESPACES: {}},
        "additionalProperties": False,
    }
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "title": "Stack file of Tandem",
        "type": "object",
        "properties": {"config": config, **_PULUMIS_OWN},
        "required": ["config"],
        "$defs": settings["$defs"],
    }


def _in_markdown(docstring: str) -> str:
    return " ".join(docstring.split()).replace("``", "`")


def _as_written(schema: Schema) -> Schema:
    """Return the schema of a key as `pulumi config set` writes it: also as text, or encrypted."""
    if any(branch.get("format") == "password" for branch in schema.get("anyOf", ())):
        return {"description": schema["description"], **_ENCRYPTED}
    texts = [_AS_TEXT[kind] for kind in _types(schema) if kind in _AS_TEXT]
    if not texts:
        return schema
    about = {key: schema[key] for key in ("default", "description") if key in schema}
    form = {key: value for key, value in schema.items() if key not in about}
    return about | {"anyOf": [*form.get("anyOf", [form]), *texts]}


def _types(schema: Schema) -> Iterator[str]:
    if "type" in schema:
        yield schema["type"]
    for branch in schema.get("anyOf", ()):
        yield from _types(branch)
