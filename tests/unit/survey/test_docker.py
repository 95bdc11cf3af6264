"""What Docker's API says of itself, of containers and of images."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.survey.docker import ContainerFacts, read_containers, read_docker, read_images
from tandem.survey.facts import HostFacts
from tests.builders import DIGEST


@pytest.mark.parametrize("version", ["29.1.3", "28.0.0-rc.1", "24.0.5+azure"])
def test_a_version_means_that_docker_can_be_used(version: str) -> None:
    docker = read_docker({"version": {"Version": version, "ApiVersion": "1.52"}}, "", "")
    assert (docker.problem, docker.version, docker.api) == (None, version, "1.52")


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ({"problem": "permission denied"}, "permission denied"),
        ({"version": {"message": "client is too old"}}, "client is too old"),
        ({}, "no answer"),
    ],
)
def test_what_docker_says_instead_is_kept(answers: dict[str, Any], problem: str) -> None:
    assert read_docker(answers, "", "").problem == problem


def test_information_that_is_refused_leaves_the_version() -> None:
    answers = {"version": {"Version": "29.1.3"}, "info": {"message": "context canceled"}}
    docker = read_docker(answers, "", "")
    assert (docker.version, docker.gpu_ways) == ("29.1.3", None)


def container(state: dict[str, Any] | None = None, **listed: Any) -> ContainerFacts:
    """Return the facts of the only container of a host."""
    one = {"Id": "1", "Names": ["/web"], "Labels": {}, "Ports": []} | listed
    own = [{"Id": "1", "State": state, "RestartCount": 3, "Image": "sha256:1"}] if state else []
    (found,) = read_containers({"containers": [one], "own": own, "reasons": {"1": "gave up"}})
    return found


def test_ports_that_lead_into_a_container_are_those_of_tcp() -> None:
    ports = [
        {"IP": "0.0.0.0", "PrivatePort": 90, "PublicPort": 9000, "Type": "tcp"},
        {"IP": "::", "PrivatePort": 90, "PublicPort": 9000, "Type": "tcp"},
        {"IP": "::", "PrivatePort": 53, "PublicPort": 53, "Type": "udp"},
        {"PrivatePort": 8080, "Type": "tcp"},
    ]
    assert container(Ports=ports).published == {9000}


def test_a_container_that_runs_has_its_health_and_no_exit_status() -> None:
    found = container(
        {
            "Status": "running",
            "Running": True,
            "ExitCode": 0,
            "StartedAt": "2026-11-30T09:14:05Z",
            "FinishedAt": "0001-01-01T00:00:00Z",
            "Health": {"Status": "unhealthy", "FailingStreak": 3},
        }
    )
    assert (found.state, found.health, found.exit_code) == ("running", "unhealthy", None)
    assert (found.since, found.restarts) == ("2026-11-30T09:14:05Z", 3)


def test_a_container_that_gave_up_has_its_exit_status_and_its_last_words() -> None:
    state = {"Status": "exited", "Running": False, "ExitCode": 0, "FinishedAt": "2026-11-30"}
    found = container(state)
    assert (found.state, found.exit_code, found.since) == ("exited", 0, "2026-11-30")
    assert (found.reason, found.health) == ("gave up", None)


def test_an_image_that_is_not_there_is_none() -> None:
    assert read_images({"images": []}) == ()
    assert read_images({"images": [{"message": "No such image"}]}) == ()


def test_an_image_that_was_pulled_by_digest_is_found_without_a_tag() -> None:
    name = f"registry.example/vllm@{DIGEST}"
    image = {"Id": "sha256:1", "Architecture": "amd64", "Size": 20, "RepoTags": None}
    host = HostFacts(
        name="host-1", images=read_images({"images": [image | {"RepoDigests": [name]}]})
    )
    found = host.image_named(name)
    assert found is not None
    assert (found.id, found.architecture, found.size) == ("sha256:1", "amd64", 20)
    assert host.image_named("registry.example/vllm:1") is None
