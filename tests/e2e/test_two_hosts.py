"""The life of one stack on two hosts, in the order of the file: real Docker, Ray and vLLM."""

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from lab import Lab
from tests.project import NO_CHANGES_EXPECTED, Project

HEAD = "tandem-e2e-lab-1-ray-head"
WORKER = "tandem-e2e-lab-2-ray-worker"
SERVER = "tandem-e2e-lab-1-server"


@pytest.fixture(scope="module")
def stack(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project.copy(tmp_path_factory.mktemp("e2e") / "project", "e2e", "lab")
    yield project
    project.pulumi("destroy", "--yes", "--skip-preview")


def chat(endpoint: str) -> dict[str, Any]:
    """Ask for one completion and return the message."""
    question = {"model": "tiny-qwen3", "messages": [{"role": "user", "content": "Hello"}]}
    body = json.dumps(question | {"max_tokens": 8}).encode()
    request = urllib.request.Request(
        f"{endpoint}/chat/completions", body, {"Content-Type": "application/json"}
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        message: dict[str, Any] = json.load(answer)["choices"][0]["message"]
    return message


def test_a_server_that_cannot_start_fails_the_up_with_its_log_and_the_next_up_too(
    stack: Project,
) -> None:
    arguments = ["--reasoning-parser", "qwen3", "--enforce-eager"]
    stack.change("serve.args", ["--no-such-flag"])
    for _ in range(2):
        done = stack.up()
        assert done.code not in (0, NO_CHANGES_EXPECTED), done.text
        assert "unrecognized arguments: --no-such-flag" in done.text
    stack.change("serve.args", arguments)


def test_up_serves_over_both_hosts_and_names_the_endpoint(stack: Project, hosts: Lab) -> None:
    done = stack.up()
    assert done.code == 0, done.text
    outputs = stack.outputs()
    assert outputs["endpoint"] == "http://10.77.0.1:8000/v1"
    assert outputs["servedName"] == "tiny-qwen3"
    assert outputs["model"] == "tandem/tiny-qwen3"
    assert outputs["hosts"] == {"lab-1": "10.77.0.1", "lab-2": "10.77.0.2"}
    assert set(outputs["containers"]) == {HEAD, WORKER, SERVER}
    assert "apiKey" not in outputs
    assert chat(outputs["endpoint"])["reasoning"]
    for host, container in zip(hosts.hosts, (HEAD, WORKER), strict=True):
        processes = host.ssh(f"docker top {container} -eo args").stdout
        assert processes.count("ray::") == 1, processes


def test_a_second_up_and_a_refresh_find_nothing_to_do(stack: Project) -> None:
    assert stack.planned() == {}
    again = stack.pulumi("up", "--yes", "--expect-no-changes")
    assert again.code == 0, again.text
    refresh = stack.pulumi("refresh", "--preview-only", "--expect-no-changes")
    assert refresh.code == 0, refresh.text


def test_a_serving_value_replaces_the_server_alone(stack: Project) -> None:
    before = stack.outputs()["containers"]
    stack.change("serve.maxModelLen", 256)
    assert {name for name in stack.planned()} == {"e2e-lab-1-server", "e2e-ready"}
    done = stack.up()
    assert done.code == 0, done.text
    after = stack.outputs()
    assert after["containers"][HEAD] == before[HEAD]
    assert after["containers"][WORKER] == before[WORKER]
    assert after["containers"][SERVER] != before[SERVER]
    assert chat(after["endpoint"])["reasoning"]


def test_a_killed_worker_is_drift_and_up_refresh_repairs_it(stack: Project, hosts: Lab) -> None:
    hosts.hosts[1].kill(WORKER)
    drift = stack.pulumi("refresh", "--preview-only", "--expect-no-changes")
    assert drift.code == NO_CHANGES_EXPECTED, drift.text
    assert "e2e-lab-2-ray-worker" in drift.text
    done = stack.up("--refresh")
    assert done.code == 0, done.text
    assert chat(stack.outputs()["endpoint"])["reasoning"]


def test_destroy_leaves_nothing_on_the_hosts(stack: Project, hosts: Lab) -> None:
    done = stack.pulumi("destroy", "--yes", "--skip-preview")
    assert done.code == 0, done.text
    for host in hosts.hosts:
        assert host.ssh("docker ps -aq --filter label=dev.tandem.stack=e2e").stdout == ""
        assert host.ssh("docker volume ls -q --filter name=tandem-e2e").stdout == ""
        assert host.ssh("test -f /srv/models/tiny-qwen3/config.json").returncode == 0
