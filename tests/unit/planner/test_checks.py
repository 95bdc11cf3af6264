"""What the hosts, as they are, say against the declaration."""

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.planner.checks import check_facts, check_unseen
from tandem.survey.facts import Facts, ImageFacts
from tests.builders import DIGEST, facts, settings

TAG = {"image.reference": "registry.example/vllm:1"}
WRONG_KEY = "Host key verification failed."
NO_DOCKER = "permission denied while trying to connect to the Docker daemon socket"

HOSTS: list[tuple[str, int, dict[str, Any], dict[str, Any], str]] = [
    (
        "a host that does not answer",
        1,
        {},
        {"problem": "no answer within 30 s"},
        "tandem:hosts[0].ssh: no connection to ops@host-1: no answer within 30 s; "
        "`ssh ops@host-1 docker version` has to work [host-unreachable]",
    ),
    (
        "a host with another key",
        1,
        {},
        {"problem": WRONG_KEY},
        f"tandem:hosts[0].ssh: no connection to ops@host-1: {WRONG_KEY}; "
        "`ssh ops@host-1 docker version` has to work [host-unreachable]",
    ),
    (
        "a user who may not use Docker",
        1,
        {},
        {"docker_problem": NO_DOCKER},
        f"tandem:hosts[0].ssh: ops@host-1 can log in but can't use Docker: {NO_DOCKER}; "
        "start Docker there, and add the user to the group docker [docker-not-usable]",
    ),
    (
        "a host without the model",
        1,
        {},
        {"has_model": False},
        "tandem:model.source.path: host-1 has no /srv/model/config.json; "
        "put the model's files into /srv/model on every host [model-missing]",
    ),
    (
        "a port that is taken",
        1,
        {},
        {"listening": frozenset({22, 8000, 6379})},
        "tandem:serve.port: something listens on port 8000 of host-1 already; "
        "stop it or choose another port [port-taken]",
    ),
    (
        "Ray's port that is taken",
        2,
        {},
        {"listening": frozenset({6379})},
        "tandem:ray.port: something listens on port 6379 of host-1 already; "
        "stop it or choose another port [port-taken]",
    ),
    (
        "an address of another machine",
        1,
        {},
        {"interfaces": {"127.0.0.1": "lo", "10.0.0.7": "eth0"}},
        "tandem:hosts[0].address: host-1 has no interface with 10.0.0.1; "
        "it has 127.0.0.1 (lo), 10.0.0.7 (eth0) [address-not-on-host]",
    ),
    (
        "an interface that has another address",
        1,
        {"hosts.0.interface": "eth7"},
        {},
        "tandem:hosts[0].interface: 10.0.0.1 is on eth0, not on eth7; "
        "correct it or leave it out [interface-mismatch]",
    ),
]


@pytest.mark.parametrize(
    ("hosts", "changes", "first", "line"), [case[1:] for case in HOSTS], ids=[c[0] for c in HOSTS]
)
def test_host(hosts: int, changes: dict[str, Any], first: dict[str, Any], line: str) -> None:
    declared = settings(hosts, changes)
    (finding,) = check_facts(declared, facts(declared, first))
    assert str(finding) == line
    assert finding.severity is Severity.ERROR


def test_healthy_hosts_give_nothing_to_say() -> None:
    declared = settings(3)
    assert check_facts(declared, facts(declared)) == []


def test_ports_of_other_hosts_do_not_matter() -> None:
    declared = settings(2)
    seen = facts(declared)
    worker = seen.hosts[1].model_copy(update={"listening": frozenset({8000, 6379})})
    seen = seen.model_copy(update={"hosts": (seen.hosts[0], worker)})
    assert check_facts(declared, seen) == []


def test_a_worker_that_is_not_reachable_is_named_by_its_place() -> None:
    declared = settings(2)
    seen = facts(declared)
    worker = seen.hosts[1].model_copy(update={"problem": "no route"})
    seen = seen.model_copy(update={"hosts": (seen.hosts[0], worker)})
    assert [f.path for f in check_facts(declared, seen)] == ["tandem:hosts[1].ssh"]


def test_loopback_of_a_single_host_needs_no_interface() -> None:
    declared = settings(1, {"hosts.0.address": "127.0.0.1"})
    assert check_facts(declared, facts(declared, {"interfaces": {}})) == []


def test_a_tag_is_told_with_the_digest_to_pin() -> None:
    declared = settings(1, TAG)
    (finding,) = check_facts(declared, facts(declared))
    assert str(finding) == (
        f"tandem:image.reference: the tag stands for {DIGEST} today; "
        f"pin it: registry.example/vllm@{DIGEST} [tag-not-pinned]"
    )
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    ("changes", "problem", "code", "severity"),
    [
        (TAG, "manifest unknown", "image-missing", Severity.ERROR),
        (TAG, "unauthorized", "image-missing", Severity.ERROR),
        ({}, "manifest unknown", "image-missing", Severity.ERROR),
        ({}, "not found", "image-missing", Severity.ERROR),
        ({}, "unauthorized", "image-not-seen", Severity.WARNING),
    ],
)
def test_an_image_that_the_registry_does_not_show(
    changes: dict[str, Any], problem: str, code: str, severity: Severity
) -> None:
    declared = settings(1, changes)
    seen = facts(declared, image=ImageFacts(problem=problem))
    (finding,) = check_facts(declared, seen)
    assert (finding.code, finding.severity) == (code, severity)
    assert problem in finding.message


def test_without_a_survey_several_hosts_have_to_name_their_interfaces() -> None:
    declared = settings(2, {"hosts.0.interface": "eth0"})
    (finding,) = check_unseen(declared, Facts())
    assert (finding.code, finding.path) == ("interface-unknown", "tandem:hosts[1].interface")


def test_without_a_survey_the_digest_has_to_be_declared() -> None:
    (finding,) = check_unseen(settings(1, TAG), Facts())
    assert finding.code == "digest-unknown"


def test_without_a_survey_one_pinned_host_is_fine() -> None:
    assert list(check_unseen(settings(1), Facts())) == []
