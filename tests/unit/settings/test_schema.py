"""The schema says of a stack file what the settings say, as far as an editor can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tandem.settings.schema import settings_schema, stack_file_schema
from tests.builders import changed, load
from tests.unit.settings.test_load import BAD

SCHEMA = stack_file_schema()
SAMPLES = sorted((Path(__file__).parents[3] / "stacks").glob("Pulumi.*.yaml"))

TOO_FINE = {"a size below one MiB"}
"""Bad files that no pattern finds."""


def _refusals(stack_file: object) -> list[str]:
    """Return what an editor underlines."""
    validator = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return [problem.message for problem in validator.iter_errors(stack_file)]


def _stack_file(changes: dict[str, Any]) -> dict[str, Any]:
    return {"config": {f"tandem:{key}": value for key, value in changed(1, changes).items()}}


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_accepted(path: Path) -> None:
    assert _refusals(yaml.safe_load(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("name", BAD)
def test_what_the_settings_refuse_is_refused(name: str) -> None:
    changes, _ = BAD[name]
    assert bool(_refusals(_stack_file(changes))) == (name not in TOO_FINE)


@pytest.mark.parametrize(
    "changes",
    [
        {"shmSize": "2GiB", "serve.readyTimeout": "1h30m", "ray.joinTimeout": 90},
        {"shmSize": 2**31, "hosts.0.memory": {"total": "119.7 GiB", "unified": True}},
        {"survey": "off", "rdma": "false", "planner": "warn"},
        {"survey": True, "rdma": False, "shmSize": "2147483648"},
        {"hosts.0.gpus": [0, "1"], "hosts.0.env": {"NCCL_IB_GID_INDEX": 3}},
        {"image.entrypoint": ["run", "it"], "image.vllm": "0.19.1", "model.weights": "118.4GiB"},
        {"model.source": {"hub": True}, "model.revision": "a" * 40, "model.deleteOnDestroy": True},
        {"serve.kvCacheMemory": "8GiB", "serve.gpuMemoryUtilization": 1, "serve.listen": "0.0.0.0"},
    ],
    ids=str,
)
def test_every_form_that_the_settings_read_is_accepted(changes: dict[str, Any]) -> None:
    load(changed(1, changes))
    assert _refusals(_stack_file(changes)) == []


def test_a_model_from_the_hub_has_to_name_its_commit() -> None:
    source = {"model.source": {"hub": True}}
    assert _refusals(_stack_file(source)) == ["'revision' is a required property"]
    assert _refusals(_stack_file({**source, "model.revision": "main"})) != []


def test_a_secret_key_has_to_be_encrypted() -> None:
    assert _refusals(_stack_file({"apiKey": {"secure": "v1:abc"}})) == []
    assert _refusals(_stack_file({"apiKey": "sesame"})) != []


def test_pulumis_own_keys_and_other_namespaces_are_left_alone() -> None:
    stack_file = _stack_file({})
    stack_file["config"]["aws:region"] = {"secure": "v1:abc"}
    own = {"encryptionsalt": "v1:x", "secretsprovider": "passphrase", "environment": ["prod"]}
    assert _refusals(stack_file | own) == []


def test_a_key_without_its_namespace_is_refused() -> None:
    stack_file = _stack_file({})
    stack_file["config"]["shmSize"] = "1GiB"
    (refusal,) = _refusals(stack_file)
    assert "shmSize" in refusal


def test_a_file_without_config_is_refused() -> None:
    assert _refusals({"encryptionsalt": "v1:x"}) == ["'config' is a required property"]


def test_every_key_has_a_description() -> None:
    schema = settings_schema()
    groups = {"Settings": schema, **schema["$defs"]}
    silent = [
        f"{name}.{key}"
        for name, group in groups.items()
        for key, described in group["properties"].items()
        if "description" not in described and "$ref" not in described
    ]
    assert silent == [], "write a docstring below each of these fields"
