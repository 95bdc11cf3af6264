"""The life of one stack on two hosts, in the order of the file: real Docker, Ray and vLLM."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest

from lab import Lab
from tandem.survey.engine import NO_CHANGES_EXPECTED
from tests.chat import chat
from tests.hub import COMMIT, hub_of_the_lab
from tests.project import API_KEY, Project, shown_secrets

HEAD = "tandem-e2e-lab-1-ray-head"
WORKER = "tandem-e2e-lab-2-ray-worker"
SERVER = "tandem-e2e-lab-1-server"
NAMES = (HEAD, WORKER, SERVER)
MODEL = "/srv/models/tiny-qwen3"
AGAIN = f"{MODEL}-again"
OURS = "docker ps -aq --filter label=dev.tandem.stack=e2e"
BOOT_SECONDS = 420
"""How long the server may be away after a power cut: about four starts of it here."""


@pytest.fixture(scope="module")
def stack(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    for project in deployed(tmp_path_factory.mktemp("e2e"), "e2e", "lab"):
        project.pulumi("config", "set", "--secret", "tandem:apiKey", API_KEY)
        yield project


@pytest.fixture(scope="module")
def single(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Return a stack of one host, the head of the other stack, with a model from the Hub."""
    with hub_of_the_lab(hosts, tmp_path_factory.mktemp("hf")) as hub:
        for project in deployed(tmp_path_factory.mktemp("single"), "single", "lab-single"):
            project.change("model.source", {"hub": True, "endpoint": hub.address})
            project.change("model.revision", COMMIT)
            yield project
    hosts.hosts[0].ssh("docker volume rm tandem-single-lab-1-hub")


def deployed(folder: Path, name: str, sample: str) -> Iterator[Project]:
    project = Project.copy(folder / "project", name, sample)
    yield project
    project.pulumi("destroy", "--yes", "--skip-preview")


def test_a_wrong_shard_fails_the_up_by_host_and_file_and_no_container_starts(
    stack: Project, hosts: Lab
) -> None:
    shard = f"{MODEL}/model.safetensors"
    second = hosts.hosts[1]
    flip = f"printf X | dd of={shard} bs=1 seek=5000 conv=notrunc status=none"
    assert second.ssh(f"cp -a {shard} /tmp/whole && {flip}").returncode == 0
    done = stack.up()
    second.ssh(f"cp -a /tmp/whole {shard}")
    assert done.code not in (0, NO_CHANGES_EXPECTED), done.text
    assert "lab-2: model.safetensors has SHA-256 " in done.text
    assert [host.ssh("docker ps -aq").stdout for host in hosts.hosts] == ["", ""]


def test_a_worker_that_cannot_join_fails_the_up_by_name_and_nothing_is_served(
    stack: Project, hosts: Lab
) -> None:
    stack.change("ray.joinTimeout", "45s")
    # The survey would find the blocked path before anything is started.
    stack.change("survey", "off")
    stack.change("image.reference", hosts.image)
    for index in (0, 1):
        stack.change(f"hosts.{index}.interface", "eth0")
    hosts.partition(hosts.hosts[1])
    done = stack.up()
    hosts.heal()
    stack.change("ray.joinTimeout", "3m")
    stack.change("survey", "on")
    assert done.code not in (0, NO_CHANGES_EXPECTED), done.text
    assert "not joined after 45 s: 10.77.0.2 has not joined" in done.text
    assert hosts.hosts[0].ssh(f"docker inspect {SERVER}").returncode != 0


def test_a_server_that_cannot_start_fails_the_up_with_its_log_and_the_next_up_too(
    stack: Project,
) -> None:
    arguments = ["--reasoning-parser", "qwen3", "--enforce-eager"]
    stack.change("serve.args", ["--no-such-flag"])
    for _ in range(2):
        done = stack.up()
        assert done.code not in (0, NO_CHANGES_EXPECTED), done.text
        cause = (
            "error: first cause: vllm: error: unrecognized arguments: --no-such-flag, on lab-1, at "
        )
        assert cause in done.text
    stack.change("serve.args", arguments)


def test_up_serves_over_both_hosts_and_names_the_endpoint(stack: Project, hosts: Lab) -> None:
    # Other destinations, so all that is there goes first: a user of the group docker; a jump host
    # and another port.
    before = [host.ssh(OURS).stdout.split() for host in hosts.hosts]
    assert all(before)
    stack.change("hosts.0.ssh", "lab-1-tandem")
    stack.change("hosts.1.ssh", "lab-2-jump")
    done = stack.up()
    assert done.code == 0, done.text
    for host, ids in zip(hosts.hosts, before, strict=True):
        assert not set(ids) & set(host.ssh(OURS).stdout.split())
    outputs = stack.outputs()
    assert outputs["endpoint"] == "http://10.77.0.1:8000/v1"
    assert outputs["servedName"] == "tiny-qwen3"
    assert outputs["model"] == "tandem/tiny-qwen3"
    assert outputs["hosts"] == {"lab-1": "10.77.0.1", "lab-2": "10.77.0.2"}
    assert set(outputs["containers"]) == {HEAD, WORKER, SERVER}
    for name in ("kvCache", "kvTokens", "maxConcurrency"):
        said = outputs["memory"][name]
        assert said["planned"] == said["actual"], name
    assert outputs["apiKey"] == "[secret]"
    manifest = json.loads((stack.folder / outputs["weights"]["manifest"]).read_text())
    assert outputs["weights"]["files"] == len(manifest["files"])
    with pytest.raises(HTTPError, match="401"):
        chat(outputs["endpoint"])
    assert chat(outputs["endpoint"], API_KEY)["reasoning"]
    for host, container in zip(hosts.hosts, (HEAD, WORKER), strict=True):
        processes = host.ssh(f"docker top {container}").stdout
        assert processes.count("ray::RayWorkerProc") == 1, processes


def test_a_second_up_and_a_refresh_find_nothing_to_do(
    stack: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "a-context-of-the-operator")
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    assert stack.planned() == {}
    again = stack.pulumi("up", "--yes", "--expect-no-changes")
    assert again.code == 0, again.text
    refresh = stack.pulumi("refresh", "--preview-only", "--expect-no-changes")
    assert refresh.code == 0, refresh.text
    drift = stack.tandem("drift", "e2e")
    assert drift.code == 0, drift.text
    assert drift.text.endswith("e2e: no drift\n")


def test_a_serving_value_replaces_the_server_alone(stack: Project) -> None:
    before = stack.outputs()["containers"]
    stack.change("serve.maxModelLen", 256)
    server = "e2e-lab-1-server"
    assert set(stack.planned()) == {server, f"{server}-log", "e2e-ready"}
    done = stack.up()
    assert done.code == 0, done.text
    after = stack.outputs()
    assert after["containers"][HEAD] == before[HEAD]
    assert after["containers"][WORKER] == before[WORKER]
    assert after["containers"][SERVER] != before[SERVER]
    assert chat(after["endpoint"], API_KEY)["reasoning"]


def test_a_variable_of_one_host_replaces_head_worker_and_server_in_this_order(
    stack: Project, hosts: Lab
) -> None:
    before = stack.outputs()["containers"]
    stack.change("hosts.1.env", {"NCCL_DEBUG": "WARN"})
    done = stack.up()
    assert done.code == 0, done.text
    after = stack.outputs()
    assert not set(before.values()) & set(after["containers"].values())
    head, worker, server = (
        host.ssh(f"docker inspect --format {{{{.Created}}}} {container}").stdout
        for host, container in zip((*hosts.hosts, hosts.hosts[0]), NAMES, strict=True)
    )
    assert head < worker < server
    assert chat(after["endpoint"], API_KEY)["reasoning"]


def test_a_killed_worker_is_drift_and_up_refresh_repairs_it(stack: Project, hosts: Lab) -> None:
    hosts.hosts[1].kill(WORKER)
    drift = stack.pulumi("refresh", "--preview-only", "--expect-no-changes")
    assert drift.code == NO_CHANGES_EXPECTED, drift.text
    assert "e2e-lab-2-ray-worker" in drift.text
    table = stack.tandem("drift", "e2e")
    assert table.code == NO_CHANGES_EXPECTED, table.text
    (row,) = [line for line in table.text.splitlines() if WORKER in line]
    assert row.split()[2:4] == ["running", "exited"], table.text
    done = stack.up("--refresh")
    assert done.code == 0, done.text
    assert chat(stack.outputs()["endpoint"], API_KEY)["reasoning"]


def test_another_folder_is_compared_and_takes_every_container_along(
    stack: Project, hosts: Lab
) -> None:
    before = stack.outputs()["containers"]
    for host in hosts.hosts:
        host.ssh(f"rm -rf {AGAIN} && cp -a {MODEL} {AGAIN}")
    stack.change("model.source.path", AGAIN)
    done = stack.up()
    assert done.code == 0, done.text
    assert "are as they have to be on lab-1, lab-2" in done.text
    after = stack.outputs()
    assert not set(before.values()) & set(after["containers"].values())
    assert chat(after["endpoint"], API_KEY)["reasoning"]


@pytest.mark.parametrize("index", [1, 0], ids=["worker", "head"])
def test_after_a_power_cut_the_server_answers_again_without_pulumi(
    index: int, stack: Project, hosts: Lab
) -> None:
    endpoint = stack.outputs()["endpoint"]
    hosts.power_cut(hosts.hosts[index])
    deadline = time.monotonic() + BOOT_SECONDS
    while True:
        try:
            answer = chat(endpoint, API_KEY)  # needs every rank, so the old server can't give it
            break
        except OSError:
            assert time.monotonic() < deadline, hosts.hosts[0].ssh("docker ps -a").stdout
            time.sleep(3)
    assert answer["reasoning"]


def test_no_secret_is_in_plain_state_containers_arguments_or_logs(
    stack: Project, hosts: Lab
) -> None:
    exported = stack.pulumi("stack", "export")
    assert exported.code == 0, exported.text
    files = [file for file in (stack.folder / "backend").rglob("*") if file.is_file()]
    assert files
    for file in files:
        assert not shown_secrets(file.read_text(errors="replace")), file
    for host in hosts.hosts:
        logs = "for id in $(docker ps -aq); do docker inspect $id; docker logs $id 2>&1; done"
        seen = host.ssh(f"{logs}; ps -eo args").stdout
        assert SERVER in seen or WORKER in seen
        assert not shown_secrets(seen)


def test_destroy_leaves_another_stack_alone_and_the_files_that_came_from_the_hub(
    stack: Project, single: Project, hosts: Lab
) -> None:
    done = single.up()
    assert done.code == 0, done.text
    outputs = single.outputs()
    assert outputs["endpoint"] == "http://10.77.0.1:8001/v1"
    assert set(outputs["containers"]) == {"tandem-single-lab-1-server"}
    assert single.planned() == {}

    done = stack.pulumi("destroy", "--yes", "--skip-preview")
    assert done.code == 0, done.text
    for host in hosts.hosts:
        assert host.ssh(OURS).stdout == ""
        assert host.ssh("docker volume ls -q --filter name=tandem-e2e").stdout == ""
        for folder in (MODEL, AGAIN):
            assert host.ssh(f"test -f {folder}/config.json").returncode == 0
        host.ssh(f"rm -r {AGAIN}")
    assert hosts.processes(hosts.hosts[1]) == []
    assert chat(outputs["endpoint"])["content"]

    done = single.pulumi("destroy", "--yes", "--skip-preview")
    assert done.code == 0, done.text
    assert hosts.processes(hosts.hosts[0]) == []
    assert hosts.hosts[0].ssh("docker ps -aq").stdout == ""
    assert hosts.hosts[0].ssh("docker volume ls -q").stdout == "tandem-single-lab-1-hub\n"
