"""A stack on two hosts whose image has no Ray, in the order of the file: real Docker and vLLM."""

from collections.abc import Iterator

import pytest

from lab import Lab
from tandem.survey.engine import NO_CHANGES_EXPECTED
from tests.chat import chat
from tests.images import without_ray
from tests.project import Project

RANK = "tandem-plain-lab-2-rank"
SERVER = "tandem-plain-lab-1-server"


@pytest.fixture(scope="module")
def stack(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project.copy(tmp_path_factory.mktemp("plain") / "project", "plain", "lab")
    project.change("image.reference", without_ray(hosts))
    yield project
    project.pulumi("destroy", "--yes", "--skip-preview")


def test_with_ray_it_is_refused_and_what_to_do_is_said(stack: Project, hosts: Lab) -> None:
    done = stack.up()
    assert done.code not in (0, NO_CHANGES_EXPECTED), done.text
    assert "has no Ray" in done.text
    assert "backend: mp" in done.text
    assert [host.ssh("docker ps -aq").stdout for host in hosts.hosts] == ["", ""]


def test_without_ray_up_serves_over_both_hosts(stack: Project, hosts: Lab) -> None:
    stack.change("ray", None)
    stack.change("backend", "mp")
    done = stack.up()
    assert done.code == 0, done.text
    outputs = stack.outputs()
    assert set(outputs["containers"]) == {RANK, SERVER}
    assert outputs["ranks"] == {"0": "lab-1", "1": "lab-2"}
    assert chat(outputs["endpoint"])["reasoning"]
    for host, container, rank in zip(hosts.hosts, (SERVER, RANK), (0, 1), strict=True):
        processes = host.ssh(f"docker top {container}").stdout
        assert processes.count("VLLM::Worker") == 1, processes
        assert f"VLLM::Worker_TP{rank}" in processes


def test_a_second_up_and_a_refresh_find_nothing_to_do(stack: Project) -> None:
    assert stack.planned() == {}
    refresh = stack.pulumi("refresh", "--preview-only", "--expect-no-changes")
    assert refresh.code == 0, refresh.text
    drift = stack.tandem("drift", "plain")
    assert drift.code == 0, drift.text
    status = stack.tandem("status", "plain")
    assert status.code == 0, status.text
    assert "plain: 2 of 2 as they should be, the server answers" in status.text


def test_a_serving_value_would_replace_the_containers_of_all_hosts(stack: Project) -> None:
    stack.change("serve.maxModelLen", 256)
    planned = stack.planned()
    assert {"plain-lab-1-server", "plain-lab-2-rank", "plain-joined", "plain-ready"} <= set(planned)
    shown = stack.pulumi("preview", "--diff")
    assert shown.text.count("--max-model-len") or shown.text.count('"256"'), shown.text
    stack.change("serve.maxModelLen", 512)
    assert stack.planned() == {}


def test_destroy_leaves_nothing(stack: Project, hosts: Lab) -> None:
    done = stack.pulumi("destroy", "--yes", "--skip-preview")
    assert done.code == 0, done.text
    for host in hosts.hosts:
        assert host.ssh("docker ps -aq; docker volume ls -q").stdout == ""
        assert hosts.processes(host) == []
