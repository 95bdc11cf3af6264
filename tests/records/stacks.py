"""What Pulumi is told of some deployments, whole.

Another input of a container replaces it at every user's next `up`, so a change shows here what it
changes there.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import mocks, rpc

from tandem.planner import make_plan, supervision
from tandem.survey.facts import ModelFacts
from tests import models
from tests.builders import facts, plan, settings
from tests.stack.test_cluster import ROOT, build, sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from tandem.planner import Plan

FOLDER = ROOT / "tests" / "stack" / "declared"


def _three() -> Plan:
    """Return a plan with a retired host, a host's own words, and a start that is to be learned."""
    changes = {
        "hosts.1.retired": True,
        "hosts.1.interface": "eth1",
        "hosts.2.gpus": ["0"],
        "hosts.2.env": {"NCCL_IB_HCA": "mlx5_2"},
        "serve": {"tensorParallel": 1, "pipelineParallel": 3, "maxModelLen": 4096},
        "image.vllm": "0.19.1",
    }
    declared = settings(3, changes)
    model = ModelFacts(config=models.config("Qwen3-30B-A3B"), weights_bytes=60 * 10**9)
    return make_plan(declared, facts(declared).model_copy(update={"model": model}), "three")


PLANS: dict[str, Callable[[], Plan]] = {
    "single": lambda: plan(
        1, {"model.source": {"hub": True}, "model.revision": "c" * 40}, "single"
    ),
    "two": lambda: plan(2, {"apiKey": "the-key", "rdma": "true"}, "two"),
    "three": _three,
    "mp": lambda: plan(2, {"backend": "mp"}, "mp"),
    "lab": lambda: sample("lab"),
    "quad": lambda: sample("quad"),
    "spark-pair": lambda: sample("spark-pair"),
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
    "aliases",
    "hooks",
)
ROOT_TYPE = "pulumi:pulumi:Stack"
"""Left out: it is there once in a process, named after the first stack that was declared."""


def declared(make: Callable[[], Plan]) -> str:
    """Return the resources of a plan with their inputs, options and outputs, as YAML.

    Of programs there are the names: their texts have tests of their own.
    """
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
        patch.setattr(supervision, "source", lambda program: f"(tandem/remote/{program})")
        build(make())
    told = {
        f"{resource['type']} {_name(resource['name'])}": _told(resource)
        for resource in resources
        if ROOT_TYPE not in (resource["type"], *resource["name"].split("::"))
    }
    return yaml.safe_dump(told, width=120)


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
        case str() if value.startswith("urn:pulumi:"):
            return "the stack" if f"::{ROOT_TYPE}::" in value else _name(value)
        case str() if value.startswith(("{", "[")):
            return json.loads(value)
    return value


RECORDS = {FOLDER / f"{name}.yaml": partial(declared, make) for name, make in PLANS.items()}
"""What makes each file of the folder."""
