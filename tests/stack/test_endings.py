"""What a plan's resources say of how they go: order, kept logs, release, retired hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pulumi.runtime import mocks

from tandem.gates.unrecorded import IDENTITY
from tandem.planner import Plan
from tests.builders import plan
from tests.stack.test_cluster import build

HEAD, WORKER, SERVER = "three-host-1-ray-head", "three-host-2-ray-worker", "three-host-1-server"
OTHER_WORKER = "three-host-3-ray-worker"
CONTAINERS = (HEAD, WORKER, OTHER_WORKER, SERVER)


@dataclass(frozen=True)
class Registered:
    """A resource that is no component, as it was registered."""

    inputs: dict[str, Any]
    needs: frozenset[str]
    """Names of resources that have to be there before it, and go after it."""
    is_retained: bool
    ignored: tuple[str, ...]
    before_create: tuple[str, ...]
    """Names of hooks."""


def registered(made: Plan) -> dict[str, Registered]:
    """Return what the plan's resources were registered with, by name."""
    requests: list[Any] = []
    register = mocks.MockMonitor.RegisterResource

    def remember(monitor: mocks.MockMonitor, request: Any) -> Any:
        requests.append(request)
        return register(monitor, request)  # type: ignore[no-untyped-call]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mocks.MockMonitor, "RegisterResource", remember)
        resources = {args.name: args for args in build(made).resources if args.custom}
    return {
        request.name: Registered(
            inputs=resources[request.name].inputs,
            needs=frozenset(urn.rpartition("::")[2] for urn in request.dependencies),
            is_retained=request.retainOnDelete,
            ignored=tuple(request.ignoreChanges),
            before_create=tuple(request.hooks.before_create),
        )
        for request in requests
        if request.custom
    }


@pytest.fixture(scope="module")
def three() -> Iterator[dict[str, Registered]]:
    yield registered(plan(3, stack="three"))


def test_each_log_is_kept_before_its_container_goes(three: dict[str, Registered]) -> None:
    for name in CONTAINERS:
        log = three[f"{name}-log"]
        assert name in log.needs
        assert log.inputs["triggers"] == [f"{name}-id"]
        assert (log.inputs["create"], log.inputs["delete"]) == (
            "true",
            "python3 -m tandem.gates.keep",
        )
        spec = json.loads(log.inputs["stdin"])
        assert (spec["id"], spec["watched"]["container"]) == (f"{name}-id", f"tandem-{name}")


def test_the_server_goes_first_then_the_workers_then_the_head(three: dict[str, Registered]) -> None:
    logs = {f"{name}-log" for name in (HEAD, WORKER, OTHER_WORKER)}
    assert logs <= three[SERVER].needs
    for worker in (WORKER, OTHER_WORKER):
        assert {HEAD, f"{HEAD}-log"} <= three[worker].needs
        assert not {f"{WORKER}-log", f"{OTHER_WORKER}-log"} & three[worker].needs


def test_a_kept_log_names_what_goes_only_after_its_container(three: dict[str, Registered]) -> None:
    holds = {
        name: set(json.loads(three[f"{name}-log"].inputs["stdin"])["holds"]) for name in CONTAINERS
    }
    head, *workers = (f"tandem-{name}" for name in (HEAD, WORKER, OTHER_WORKER))
    assert holds == {
        SERVER: {head, *workers},
        WORKER: {head},
        OTHER_WORKER: {head},
        HEAD: set(),
    }


def test_a_host_is_looked_at_before_its_containers_and_checked_after_them(
    three: dict[str, Registered],
) -> None:
    for name in CONTAINERS:
        host = name.removeprefix("three-")[: len("host-1")]
        release = three[f"three-{host}-release"]
        assert f"three-{host}-release" in three[name].needs
        assert release.inputs["create"] == "python3 -m tandem.gates.release record"
        assert release.inputs["delete"] == "python3 -m tandem.gates.release check"
        # Another host is another provider, and its containers go first.
        assert release.inputs["triggers"] == [f"three-{host}-docker-id"]


def test_a_single_host_is_released_and_its_log_kept() -> None:
    single = registered(plan(1, stack="one"))
    assert "one-host-1-release" in single["one-host-1-server"].needs
    assert "one-host-1-server" in single["one-host-1-server-log"].needs


def test_nothing_is_retained_and_every_gate_waits_while_no_host_is_retired(
    three: dict[str, Registered],
) -> None:
    assert [name for name, made in three.items() if made.is_retained or made.ignored] == []


def test_all_that_is_on_a_retired_host_is_retained_and_nothing_else(
    three: dict[str, Registered],
) -> None:
    retired = plan(3, {"hosts.1.retired": True, "hosts.1.interface": "eth1"}, "three")
    now = registered(retired)
    assert {name for name, made in now.items() if made.is_retained} == {
        *(f"three-host-2-{part}" for part in ("image", "model", "hashes", "release")),
        WORKER,
        f"{WORKER}-log",
    }
    assert now["three-ready"].ignored == ("stdin",)


def test_retiring_a_host_changes_no_input(three: dict[str, Registered]) -> None:
    retired = plan(3, {"hosts.1.retired": True, "hosts.1.interface": "eth1"}, "three")
    now = registered(retired)
    assert {name: made.inputs for name, made in now.items() if not made.ignored} == {
        name: made.inputs for name, made in three.items() if name != "three-ready"
    }


def test_what_an_interrupted_run_left_is_looked_for_before_each_container_is_made(
    three: dict[str, Registered],
) -> None:
    for name in CONTAINERS:
        assert three[name].before_create == (f"{name}-unrecorded",)
        labels = {one["label"]: one["value"] for one in three[name].inputs["labels"]}
        assert labels[IDENTITY] == "the-identity"


def test_with_mp_the_server_goes_before_the_ranks_and_is_asked_when_all_have_joined() -> None:
    made = registered(plan(3, {"backend": "mp"}, "many"))
    server, ranks = "many-host-1-server", ["many-host-2-rank", "many-host-3-rank"]
    assert {*ranks, *(f"{rank}-log" for rank in ranks)} <= made[server].needs
    assert "many-weights" in made[ranks[0]].needs
    assert not {server, ranks[1]} & made[ranks[0]].needs
    assert made["many-joined"].inputs["triggers"] == [f"{name}-id" for name in (*ranks, server)]
    assert made["many-joined"].inputs["create"] == "python3 -m tandem.gates.ranks"
    assert {"many-joined", server} <= made["many-ready"].needs
    holds = json.loads(made[f"{server}-log"].inputs["stdin"])["holds"]
    assert holds == [f"tandem-{rank}" for rank in ranks]
