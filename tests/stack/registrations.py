"""What the engine is told of a plan's resources, as plain data.

A running deployment sees a difference in its next preview where this data changes. So the files in
``registered/``, which ``python -m tests.stack.registrations`` writes, are written again only for a
change that means to replace containers, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from pulumi.runtime import mocks

from tandem.planner import Plan, make_plan, supervision
from tandem.survey.facts import ModelFacts
from tests import models
from tests.builders import facts, settings
from tests.stack.test_cluster import build, sample

FOLDER = Path(__file__).with_name("registered")


def _rich() -> Plan:
    """Return a plan that says what the samples do not: key, retired host, a start to be learned."""
    declared = settings(
        3,
        {
            "apiKey": "sesame",
            "hosts.1.retired": True,
            "hosts.1.interface": "eth1",
            "hosts.2.gpus": ["0"],
            "hosts.2.env": {"NCCL_IB_HCA": "mlx5_2"},
            "serve": {"tensorParallel": 1, "pipelineParallel": 3, "maxModelLen": 4096},
            "model.source": {"hub": True},
            "model.revision": "c" * 40,
            "image.vllm": "0.19.1",
        },
    )
    model = ModelFacts(config=models.config("Qwen3-30B-A3B"), weights_bytes=60 * 10**9)
    seen = facts(declared).model_copy(update={"model": model})
    return make_plan(declared, seen, "rich")


PLANS: dict[str, Callable[[], Plan]] = {
    "lab": lambda: sample("lab"),
    "lab-single": lambda: sample("lab-single"),
    "quad": lambda: sample("quad"),
    "spark-pair": lambda: sample("spark-pair"),
    "rich": _rich,
}

STACK = "pulumi:pulumi:Stack"
_OF_THE_PROGRAM = ("sourcePosition", "stackTrace", "packageRef")
"""Where in the code a resource was declared: the state holds nothing of it."""
_IN_NO_ORDER = ("dependencies", "replaceOnChanges", "ignoreChanges", "additionalSecretOutputs")


def registrations(name: str) -> dict[str, Any]:
    """Return all that is registered for a plan by type and name, and the components' outputs."""
    requests: list[Any] = []
    outputs: dict[str, Any] = {}
    register = mocks.MockMonitor.RegisterResource
    register_outputs = mocks.MockMonitor.RegisterResourceOutputs

    def remember(monitor: mocks.MockMonitor, request: Any) -> Any:
        requests.append(request)
        return register(monitor, request)  # type: ignore[no-untyped-call]

    def remember_outputs(monitor: mocks.MockMonitor, request: Any) -> Any:
        outputs[request.urn] = MessageToDict(request.outputs)
        return register_outputs(monitor, request)  # type: ignore[no-untyped-call]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mocks.MockMonitor, "RegisterResource", remember)
        patch.setattr(mocks.MockMonitor, "RegisterResourceOutputs", remember_outputs)
        # The programs have tests of their own, and change more often than the plan.
        patch.setattr(supervision, "source", lambda program: f"tandem/remote/{program}")
        build(PLANS[name]())
    found = {
        f"{request.type}::{request.name}": _plain(request)
        for request in requests
        if request.type != STACK  # the mocks register it once a process
    }
    of_components = {urn: said for urn, said in outputs.items() if f"{STACK}::" not in urn}
    return {**found, "outputs": of_components}


def golden(name: str) -> dict[str, Any]:
    """Return what was registered when the file was written."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def _plain(request: Any) -> dict[str, Any]:
    data: dict[str, Any] = MessageToDict(request)
    for part in _OF_THE_PROGRAM:
        data.pop(part, None)
    for part in _IN_NO_ORDER:
        if part in data:
            data[part] = sorted(data[part])
    for needs in data.get("propertyDependencies", {}).values():
        needs["urns"] = sorted(needs.get("urns", []))
    return data


def main() -> None:
    """Write the golden files."""
    FOLDER.mkdir(exist_ok=True)
    for name in PLANS:
        text = json.dumps(registrations(name), indent=1, sort_keys=True)
        (FOLDER / f"{name}.json").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
