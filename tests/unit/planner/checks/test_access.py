"""Hosts without SSH or Docker."""

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.survey.docker import DockerFacts
from tests.builders import findings

WRONG_KEY = "Host key verification failed."
NO_DOCKER = "permission denied while trying to connect to the Docker daemon socket"


def test_healthy_hosts_give_nothing_to_say() -> None:
    assert findings(3) == []


@pytest.mark.parametrize(
    ("first", "line"),
    [
        (
            {"problem": "no answer within 30 s"},
            "tandem:hosts[0].ssh: no connection to ops@host-1: no answer within 30 s; "
            "`ssh ops@host-1 docker version` has to work [host-unreachable]",
        ),
        (
            {"problem": WRONG_KEY},
            f"tandem:hosts[0].ssh: no connection to ops@host-1: {WRONG_KEY}; "
            "`ssh ops@host-1 docker version` has to work [host-unreachable]",
        ),
        (
            {"docker": DockerFacts(problem=NO_DOCKER)},
            f"tandem:hosts[0].ssh: ops@host-1 can log in but can't use Docker: {NO_DOCKER}; "
            "start Docker there, and add the user to the group docker [docker-not-usable]",
        ),
    ],
)
def test_what_keeps_from_looking_is_the_only_thing_told(first: dict[str, Any], line: str) -> None:
    (finding,) = findings(1, first)
    assert str(finding) == line
    assert finding.severity is Severity.ERROR


def test_a_worker_that_is_not_reachable_is_named_by_its_place() -> None:
    (finding,) = findings(2, last={"problem": "no route"})
    assert finding.path == "tandem:hosts[1].ssh"


def test_a_host_that_is_retired_is_not_told_to_be_missing_anything() -> None:
    nothing = {"skipped": True, "docker": {}, "gpus": (), "interfaces": None, "model": {}}
    assert findings(2, last=nothing, changes={"hosts.1.retired": True}) == []
    assert findings(2, last=nothing | {"skipped": False}) != []


def test_rootless_docker_has_another_network_and_is_a_warning() -> None:
    rootless = DockerFacts(version="29.1.3", gpu_ways=("CDI",), rootless=True)
    (finding,) = findings(1, {"docker": rootless})
    assert (finding.code, finding.severity) == ("docker-rootless", Severity.WARNING)
    assert "without 10.0.0.1" in finding.message
