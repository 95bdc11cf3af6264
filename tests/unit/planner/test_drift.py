"""What is no longer as an `up` left it."""

from __future__ import annotations

from typing import Any

from tandem.planner.drift import containers_drift, hosts_drift, resources_drift, steady
from tandem.survey.docker import ContainerFacts, DockerFacts
from tandem.survey.engine import Changed
from tandem.survey.machine import SystemFacts
from tests.builders import facts, settings

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
    (drift,) = containers_drift(facts(settings(), {"containers": (container(restarts=3),)}))
    assert (drift.declared, drift.found) == ("0 restarts", "3 restarts")


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
