"""What a deployment gives back: endpoint, containers, weights, memory and key."""

from __future__ import annotations

import json
from typing import Any

import pulumi
from pulumi.runtime import mocks

from components import Cluster
from tandem.planner import Plan, make_plan
from tandem.settings import Settings
from tandem.survey.facts import ModelFacts
from tests.builders import facts, plan, settings
from tests.models import config
from tests.stack.test_cluster import COMMAND, Recorder, run

MANIFEST = {"revision": None, "files": 3, "bytes": 12}
STARTED = {"weightsBytes": 16_400_000_000, "kvTokens": 123_456, "maxConcurrency": 3.25}


class Answering(Recorder):
    """Answers as the gates do once all is well."""

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        name, outputs = super().new_resource(args)
        if args.typ == COMMAND and args.name.endswith("-weights"):
            outputs["stdout"] = json.dumps(MANIFEST)
        if args.typ == COMMAND and args.name.endswith("-ready"):
            outputs["stdout"] = json.dumps({"started": STARTED})
        return name, outputs


def outputs(made: Plan) -> dict[str, Any]:
    """Return the outputs of a plan's cluster, and whether the key is a secret."""
    found: dict[str, Any] = {}

    async def is_secret(key: pulumi.Output[str] | None) -> None:
        found["is_secret"] = key is not None and await key.is_secret()

    def declare() -> pulumi.Output[Any]:
        cluster = Cluster(made.stack, made)
        asked: Any = is_secret(cluster.api_key)
        values = {
            "endpoint": cluster.endpoint,
            "containers": cluster.containers,
            "weights": cluster.weights,
            "memory": cluster.memory,
            "key": cluster.api_key,
            "asked": asked,
        }
        return pulumi.Output.all(**values).apply(found.update)

    run(Answering(), made.stack, declare)
    del found["asked"]
    return found


def with_model(declared: Settings) -> Plan:
    """Return a plan of a model whose memory is weighed."""
    known = ModelFacts(config=config("Qwen3-8B"), weights_bytes=16_400_000_000)
    return make_plan(declared, facts(declared).model_copy(update={"model": known}), "one")


def test_a_deployment_gives_back_where_it_is_and_what_it_holds() -> None:
    found = outputs(with_model(settings(1, {"serve.maxModelLen": 4096})))
    assert found.pop("memory") == {
        "weights": {"planned": "15.27 GiB", "actual": "15.27 GiB"},
        "kvCache": {"planned": "48.64 - 56.17 GiB", "actual": "not logged"},
        "kvTokens": {"planned": "354,192 - 409,024", "actual": "123,456"},
        "maxConcurrency": {"planned": "86.47 - 99.86", "actual": "3.25"},
    }
    assert found == {
        "endpoint": "http://10.0.0.1:8000/v1",
        "containers": {"tandem-one-host-1-server": "one-host-1-server-id"},
        "weights": MANIFEST,
        "key": None,
        "is_secret": False,
    }


def test_without_a_config_json_only_what_was_logged_is_given_back() -> None:
    assert outputs(plan(2, stack="two"))["memory"] == {
        "weights": {"planned": "not known", "actual": "15.27 GiB"},
        "kvTokens": {"planned": "not known", "actual": "123,456"},
        "maxConcurrency": {"planned": "not known", "actual": "3.25"},
    }


def test_the_key_is_given_back_as_a_secret() -> None:
    found = outputs(plan(1, {"apiKey": "sesame"}, "keyed"))
    assert (found["key"], found["is_secret"]) == ("sesame", True)
