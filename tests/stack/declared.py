"""What Pulumi is told of two deployments, whole: ``python -m tests.stack.declared`` writes it.

Another input of a container replaces it at every user's next `up`: so that a change shows what it
changes there, it stands in `declared/`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import mocks, rpc

from tandem.remote import source
from tests.builders import plan
from tests.stack.test_cluster import ROOT, build

if TYPE_CHECKING:
    from collections.abc import Callable

    from tandem.planner import Plan

FOLDER = Path(__file__).parent / "declared"
PLANS: dict[str, Callable[[], Plan]] = {
    "single": lambda: plan(
        1, {"model.source": {"hub": True}, "model.revision": "c" * 40}, "single"
    ),
    "two": lambda: plan(2, {"apiKey": "the-key", "rdma": "true"}, "two"),
}
OPTIONS = (
    "parent",
    "provider",
    "dependencies",
    "replaceOnChanges",
    "replacementTrigger",
    "deleteBeforeReplace",
    "retainOnDelete",
    "ignoreChanges",
    "hooks",
)
ROOT_TYPE = "pulumi:pulumi:Stack"
"""Left out: it is there once in a process, named after the first stack that was declared."""
PROGRAMS = {
    source(path.name): f"(tandem/remote/{path.name})"
    for path in (ROOT / "tandem/remote").glob("*.py")
}


def declared(made: Plan) -> str:
    """Return the resources of a plan with their inputs, options and outputs, as YAML."""
    resources: list[dict[str, Any]] = []
    register = mocks.MockMonitor.RegisterResource
    complete = mocks.MockMonitor.RegisterResourceOutputs

    def remember(monitor: mocks.MockMonitor, request: Any) -> Any:
        resources.append(MessageToDict(request))
        return register(monitor, request)  # type: ignore[no-untyped-call]

    def remember_outputs(monitor: mocks.MockMonitor, request: Any) -> Any:
        told = MessageToDict(request)
        resources.append({"name": told["urn"], "type": "outputs of", "object": told["outputs"]})
        return complete(monitor, request)  # type: ignore[no-untyped-call]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mocks.MockMonitor, "RegisterResource", remember)
        patch.setattr(mocks.MockMonitor, "RegisterResourceOutputs", remember_outputs)
        build(made)
    told = {
        f"{resource['type']} {_name(resource['name'])}": _told(resource)
        for resource in resources
        if ROOT_TYPE not in (resource["type"], *resource["name"].split("::"))
    }
    text = yaml.safe_dump(told, width=120)
    return text.replace(made.ray.fingerprint, "(fingerprint)") if made.ray else text


def _told(resource: dict[str, Any]) -> dict[str, Any]:
    """Return a resource's inputs, and its options in an order that does not change."""
    options = {key: _spelled(resource[key]) for key in OPTIONS if resource.get(key)}
    if "dependencies" in options:
        options["dependencies"] = sorted(options["dependencies"])
    told = dict(_spelled(resource.get("object", {})))
    return {**told, "options": options} if options else told


def _name(urn: str) -> str:
    """Return the name in a URN, which an id may follow; a name as it is."""
    return urn.split("::")[3] if urn.startswith("urn:") else urn


def _spelled(value: Any) -> Any:
    """Return a value as people read it: resources by name, programs by their file."""
    match value:
        case {rpc._special_sig_key: rpc._special_secret_sig, "value": hidden}:
            return {"secret": _spelled(hidden)}
        case dict():
            return {key: _spelled(each) for key, each in value.items()}
        case list():
            return [_spelled(each) for each in value]
        case float() if value.is_integer():
            return int(value)
        case str() if value in PROGRAMS:
            return PROGRAMS[value]
        case str() if value.startswith("urn:pulumi:"):
            return "the stack" if f"::{ROOT_TYPE}::" in value else _name(value)
        case str() if value.startswith(("{", "[")):
            return json.loads(value)
    return value


if __name__ == "__main__":
    for name, make in PLANS.items():
        (FOLDER / f"{name}.yaml").write_text(declared(make()), encoding="utf-8")
