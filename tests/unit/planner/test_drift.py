"""What is no longer as an `up` left it."""

from __future__ import annotations

from typing import Any

from tandem.planner.drift import (
    Drift,
    containers_drift,
    hosts_drift,
    resources_drift,
    steady,
    weights_drift,
)
from tandem.survey.docker import ContainerFacts, DockerFacts
from tandem.survey.engine import Changed
from tandem.survey.facts import Facts, HostFacts
from tandem.survey.machine import SystemFacts
from tests.builders import facts, settings
from tests.records.hosts import read as host

NAME = "tandem-test-host-1-server"
KERNEL = {"system": SystemFacts(kernel="6.8.0-1010", architecture="aarch64", os="Ubuntu")}


def container(**changes: Any) -> ContainerFacts:
    known = {"id": "1", "name": NAME, "stack": "test", "state": "running", "restarts": 0}
    return ContainerFacts.model_validate(known | changes)


def test_a_host_that_is_as_recorded_shows_no_drift() -> None:
    declared = settings(2)
    seen = facts(declared, KERNEL)
    assert list(hosts_drift(steady(declared, seen), declared, seen)) == []


def test_what_changed_on_a_host_is_named_with_both_values() -> None:
    declared = settings(2)
    recorded = steady(declared, facts(declared, KERNEL))
    newer = {"system": SystemFacts(kernel="6.8.0-1012", architecture="aarch64", os="Ubuntu")}
    (drift,) = hosts_drift(recorded, declared, facts(declared, newer))
    assert (drift.what, drift.declared, drift.found) == (
        "host-1: kernel",
        "6.8.0-1010",
        "6.8.0-1012",
    )


def test_all_that_stays_as_it_is_on_a_host_is_recorded() -> None:
    spark = host("dgx-spark")
    address = {"hosts.0.address": "192.168.100.1"}
    declared = settings(2, {**address, "hosts.1.retired": True})
    seen = Facts(stack="test", hosts=(spark, HostFacts(name="host-2", skipped=True)))
    assert steady(declared, seen) == {
        "host-1": {
            "kernel": "6.14.0-1013-nvidia",
            "Docker": "29.1.3",
            "NVIDIA driver": "580.95.05",
            "GPUs": "NVIDIA GB10",
            "interface": "enp1s0f0np0",
            "RoCE v2 GID index": "rocep1s0f0 3",
            "weights": "15000000008",
        }
    }
    several = host("four-3090")
    found = steady(settings(), Facts(stack="test", hosts=(several,)))["host-1"]
    assert found["GPUs"] == ", ".join(["NVIDIA GeForce RTX 3090"] * 4)
    assert not {"interface", "RoCE v2 GID index", "weights"} & set(found)


def test_what_the_weights_gate_said_is_a_row_a_file() -> None:
    lines = ["host-2: a.safetensors is missing; copy it from host-1", "host-1: b: odd"]
    assert list(weights_drift(lines)) == [
        Drift(
            what="host-2: weights", declared="as in the manifest", found="a.safetensors is missing"
        ),
        Drift(what="host-1: weights", declared="as in the manifest", found="b: odd"),
    ]


def test_a_property_stands_behind_its_resource() -> None:
    changed = Changed(resource="test-host-1-server", property="image", declared="a", found="b")
    (drift,) = resources_drift([changed], facts(settings()))
    assert drift.what == "test-host-1-server image"
    stopped = Changed(resource="gone", property="mustRun", declared="true", found="false")
    assert [drift.what for drift in resources_drift([stopped], facts(settings()))] == [
        "gone mustRun"
    ]


def test_a_moved_address_is_another_interface() -> None:
    declared = settings(1)
    recorded = {"host-1": {**steady(declared, facts(declared))["host-1"], "interface": "eth7"}}
    (drift,) = hosts_drift(recorded, declared, facts(declared))
    assert (drift.what, drift.declared, drift.found) == ("host-1: interface", "eth7", "eth0")


def test_what_only_one_side_knows_is_no_drift() -> None:
    declared = settings(1)
    seen = facts(declared, {"docker": DockerFacts(version="29.1.3")})
    assert list(hosts_drift({"host-1": {"firmware": "1"}}, declared, seen)) == []
    assert list(hosts_drift({}, declared, seen)) == []


def test_a_container_that_ended_is_told_with_the_time() -> None:
    ended = container(state="exited", since="2026-11-30T09:14:05.123Z")
    (drift,) = containers_drift(facts(settings(), {"containers": (ended,)}))
    assert (drift.what, drift.declared, drift.found) == (f"host-1: {NAME}", "running", "exited")
    assert drift.since == "2026-11-30T09:14:05.123Z"


def test_a_container_that_docker_started_again_is_told() -> None:
    since = "2026-11-30T09:14:05.123Z"
    again = container(restarts=3, since=since)
    (drift,) = containers_drift(facts(settings(), {"containers": (again,)}))
    assert (drift.declared, drift.found) == ("0 restarts", "3 restarts")
    assert (drift.what, drift.since) == (f"host-1: {NAME}", since)


def test_a_container_that_failed_has_its_exit_status() -> None:
    failed = container(state="exited", exit_code=137)
    (drift,) = containers_drift(facts(settings(), {"containers": (failed,)}))
    assert drift.found == "exited (status 137)"


def test_a_container_that_gave_up_says_why() -> None:
    gave_up = container(state="exited", exit_code=0, reason="gave up: no GPU", restarts=5)
    (drift,) = containers_drift(facts(settings(), {"containers": (gave_up,)}))
    assert drift.found == "exited: gave up: no GPU"


def test_a_server_that_does_not_answer_its_health_check_is_told() -> None:
    unwell = container(health="unhealthy")
    (drift,) = containers_drift(facts(settings(), {"containers": (unwell,)}))
    assert (drift.declared, drift.found) == ("healthy", "unhealthy")
    assert (drift.what, drift.since) == (f"host-1: {NAME}", None)
    for health in ("healthy", "starting", None):
        well = container(health=health)
        assert list(containers_drift(facts(settings(), {"containers": (well,)}))) == []


def test_containers_that_run_and_those_of_others_are_no_drift() -> None:
    others = (
        container(),
        container(stack="other", state="exited"),
        container(stack="", state=None),
    )
    assert list(containers_drift(facts(settings(), {"containers": others}))) == []


def test_what_the_engine_found_is_told_once() -> None:
    seen = facts(settings(), {"containers": (container(state="exited"),)})
    server = NAME.removeprefix("tandem-")
    stopped = Changed(resource=server, property="mustRun", declared="true", found="false")
    gone = Changed(resource="test-host-1-model", property=None, declared="there", found="gone")
    (drift,) = resources_drift([stopped, gone], seen)
    assert (drift.what, drift.declared, drift.found) == ("test-host-1-model", "there", "gone")
