"""A stack whose containers fail, in the order of the file: real Docker, a stand-in of vLLM."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Thread
from typing import Any

import pytest

from lab import Lab
from tandem.survey.engine import NO_CHANGES_EXPECTED
from tests.chat import chat
from tests.project import API_KEY, Project

HEAD = "tandem-supervised-lab-1-ray-head"
WORKER = "tandem-supervised-lab-2-ray-worker"
SERVER = "tandem-supervised-lab-1-server"
HOSTS = {HEAD: 0, WORKER: 1, SERVER: 0}


class Stack:
    """The stack with its containers as Docker has them."""

    def __init__(self, project: Project, lab: Lab) -> None:
        self.project = project
        self.lab = lab

    def inspect(self, name: str) -> dict[str, Any]:
        """Return what Docker knows of a container."""
        done = self.lab.hosts[HOSTS[name]].ssh(f"docker inspect {name}")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)[0]
        return found

    def log(self, name: str) -> list[str]:
        """Return a container's log."""
        return self.lab.hosts[HOSTS[name]].ssh(f"docker logs {name} 2>&1").stdout.splitlines()

    def answers(self) -> bool:
        """Tell whether a chat is completed."""
        try:
            return bool(chat(self.endpoint, API_KEY))
        except OSError:
            return False

    @property
    def endpoint(self) -> str:
        """Return where the API is."""
        return f"http://{self.lab.hosts[0].address}:8000/v1"

    def say(self, prompt: str) -> None:
        """Send a prompt that breaks the stand-in; nobody waits for an answer."""
        message = {"role": "user", "content": prompt}
        body = json.dumps({"model": "tiny-qwen3", "messages": [message]}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {API_KEY}"}
        request = urllib.request.Request(f"{self.endpoint}/chat/completions", body, headers)

        def send() -> None:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with suppress(OSError):
                opener.open(request, timeout=300)

        Thread(target=send, daemon=True).start()

    def kill(self, name: str) -> None:
        """Kill a container's first process as the kernel does when memory is short."""
        pid = self.inspect(name)["State"]["Pid"]
        assert self.lab.hosts[HOSTS[name]].ssh(f"kill -9 {pid}").returncode == 0

    def wait(self, holds: Callable[[], bool], seconds: float = 90) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            state = {name: (self.inspect(name)["State"], self.log(name)[-15:]) for name in HOSTS}
            assert time.monotonic() < deadline, state
            time.sleep(0.5)


@pytest.fixture(scope="module")
def stack(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("supervised")
    project = Project.copy(folder / "project", "supervised", "lab")
    project.change("image.reference", hosts.stand_in_image)
    project.change("serve.stallTimeout", "20s")
    project.change("restarts", {"limit": 3, "window": "30m"})
    project.pulumi("config", "set", "--secret", "tandem:apiKey", API_KEY)
    yield Stack(project, hosts)
    project.pulumi("destroy", "--yes", "--skip-preview")


def test_an_up_serves_and_a_second_one_has_nothing_to_do(stack: Stack) -> None:
    done = stack.project.up()
    assert done.code == 0, done.text
    assert stack.answers()
    for options in ((), ("--refresh",)):
        done = stack.project.pulumi("preview", "--expect-no-changes", *options)
        assert done.code == 0, done.text


def _questions(stack: Stack) -> int:
    return sum("POST /v1/chat/completions" in line for line in stack.log(SERVER))


def test_docker_calls_the_server_healthy_and_idle_it_is_asked_for_a_token_and_lives(
    stack: Stack,
) -> None:
    stack.wait(lambda: bool(stack.inspect(SERVER)["State"]["Health"]["Status"] == "healthy"))
    before, asked = stack.inspect(SERVER)["State"]["Pid"], _questions(stack)
    stack.wait(lambda: _questions(stack) > asked)
    time.sleep(20)
    assert stack.inspect(SERVER)["State"]["Pid"] == before
    assert stack.inspect(SERVER)["State"]["Health"]["Status"] == "healthy"


def test_a_server_that_stands_still_with_a_request_is_ended_and_comes_back(stack: Stack) -> None:
    stack.say("hang")
    stack.wait(lambda: stack.inspect(SERVER)["RestartCount"] == 1, 120)
    stack.wait(stack.answers)
    ended = [line for line in stack.log(SERVER) if line.startswith("tandem: the command ended")]
    assert "stalled: requests running: 1, and nothing has moved for " in ended[-1]


@pytest.mark.parametrize("name", [WORKER, HEAD])
def test_the_whole_comes_back_when_a_part_of_ray_is_killed(name: str, stack: Stack) -> None:
    before = {one: stack.inspect(one)["State"]["StartedAt"] for one in HOSTS}
    stack.kill(name)
    stack.wait(lambda: stack.inspect(SERVER)["State"]["StartedAt"] != before[SERVER])
    stack.wait(stack.answers)
    assert stack.inspect(name)["State"]["StartedAt"] != before[name]


def test_a_server_that_crashes_too_often_stays_down_drift_says_so_and_an_up_repairs(
    stack: Stack,
) -> None:
    while stack.inspect(SERVER)["State"]["Status"] != "exited":
        if stack.answers():
            stack.say("crash")
        time.sleep(1)
    assert stack.inspect(SERVER)["State"]["ExitCode"] == 0
    assert "tandem: stays down after 3 restarts within 30 min" in stack.log(SERVER)[-1]
    drift = stack.project.tandem("drift", "supervised")
    assert drift.code == NO_CHANGES_EXPECTED, drift.text
    assert "exited" in drift.text
    done = stack.project.up("--refresh")
    assert done.code == 0, done.text
    assert stack.answers()


def test_a_worker_outlasts_a_head_that_is_away_and_joins_when_it_is_back(stack: Stack) -> None:
    head_host = stack.lab.hosts[0]
    stack.lab.power_cut(head_host, off=True)
    waiting = "tandem: waiting for "
    worker = stack.lab.hosts[1]
    deadline = time.monotonic() + 60
    while waiting not in worker.ssh(f"docker logs --since 60s {WORKER} 2>&1").stdout:
        assert time.monotonic() < deadline
        time.sleep(1)
    restarts = stack.inspect(WORKER)["RestartCount"]
    time.sleep(20)
    assert stack.inspect(WORKER)["RestartCount"] == restarts
    stack.lab.power_on(head_host)
    stack.wait(stack.answers, 120)
    done = stack.project.pulumi("preview", "--refresh", "--expect-no-changes")
    assert done.code == 0, done.text
