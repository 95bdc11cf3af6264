"""How deployments end, in the order of the file: real engine, Docker and SSH, stand-in of vLLM.

The lab's hosts share one kernel, so memory that is held on one of them is missing on both.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lab import Lab
from lab.host import Host
from tests.project import Project, Run

HEAD, WORKER, SERVER = "ends-lab-1-ray-head", "ends-lab-2-ray-worker", "ends-lab-1-server"
KEPT = ".local/state/tandem/ends"
DESTROY = ("destroy", "--yes", "--skip-preview")
FEW_SECONDS = 35
"""How long a destroy may take that meets a host without an answer."""


@pytest.fixture(scope="module")
def stack(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    for host in hosts.hosts:
        host.ssh(f"rm -rf {KEPT}")
    project = Project.copy(tmp_path_factory.mktemp("ends") / "project", "ends", "lab")
    project.change("image.reference", hosts.stand_in_image)
    project.change("release", {"memory": "2GiB", "timeout": "8s"})
    for index in (0, 1):
        project.change(f"hosts.{index}.interface", "eth0")
    yield project
    hosts.heal()
    project.pulumi(*DESTROY)


def _up(stack: Project) -> None:
    done = stack.up()
    assert done.code == 0, done.text


def _kept(host: Host, name: str) -> list[tuple[dict[str, Any], str]]:
    """Return what is kept of a container, oldest first: how it ended, and its log."""
    names = host.ssh(f"ls {KEPT}/tandem-{name}/*.json").stdout.split()
    pairs = [(name, f"{name.removesuffix('.json')}.log") for name in names]
    return [
        (json.loads(host.ssh(f"cat {a}").stdout), host.ssh(f"cat {b}").stdout) for a, b in pairs
    ]


def _deleted(done: Run) -> list[str]:
    """Return the resources that were deleted, in this order."""
    return re.findall(r"^ *-+ +\S+ (\S+) deleted", done.text, re.MULTILINE)


def _state(stack: Project) -> set[str]:
    """Return the names of the resources in the state, components and providers left out."""
    said = json.loads(stack.pulumi("stack", "export").text)
    found = said["deployment"].get("resources", [])
    return {
        resource["urn"].rpartition("::")[2]
        for resource in found
        if resource["custom"] and not resource["type"].startswith("pulumi:")
    }


def _ours(hosts: Lab) -> list[str]:
    words = "docker ps -aq --filter label=dev.tandem.stack=ends; docker volume ls -q"
    return [host.ssh(words).stdout for host in hosts.hosts]


def test_a_replaced_server_leaves_its_log_on_its_host(stack: Project, hosts: Lab) -> None:
    _up(stack)
    first = hosts.hosts[0]
    id = first.ssh(f"docker inspect --format '{{{{.Id}}}}' tandem-{SERVER}").stdout.strip()
    stack.change("serve.maxModelLen", 256)
    _up(stack)
    ((ended, log),) = _kept(first, SERVER)
    assert ended.pop("kept") > ended.pop("startedAt")
    assert ended == {
        "container": f"tandem-{SERVER}",
        "id": id,
        "host": "lab-1",
        "role": "server",
        "reason": "removed",
        "status": "running",
        "finishedAt": "0001-01-01T00:00:00Z",
        "exitCode": 0,
        "oomKilled": False,
        "restarts": 0,
        "image": hosts.stand_in_image.replace(":1@", "@"),
        "error": "",
    }
    assert re.match(r"\d{4}-\d\d-\d\dT\S+Z ", log)
    assert _kept(first, HEAD) == []


def test_a_killed_worker_leaves_its_exit_status_and_one_that_is_gone_stops_nothing(
    stack: Project, hosts: Lab
) -> None:
    second = hosts.hosts[1]
    hosts.kill(second, f"tandem-{WORKER}")
    assert stack.up("--refresh").code == 0
    ((ended, _),) = _kept(second, WORKER)
    assert (ended["status"], ended["exitCode"]) == ("exited", 137)
    second.ssh(f"docker rm --force tandem-{WORKER}")
    done = stack.up("--refresh")
    assert done.code == 0, done.text
    assert f"tandem-{WORKER} is not on lab-2 any more: no log to keep" in done.text
    assert len(_kept(second, WORKER)) == 1


def test_a_gate_that_gives_up_keeps_the_log_of_every_container(stack: Project, hosts: Lab) -> None:
    arguments = ["--reasoning-parser", "qwen3"]
    stack.change("serve.args", [*arguments, "--no-such-flag"])
    done = stack.up()
    stack.change("serve.args", arguments)
    assert done.code != 0
    assert "logs are kept: `python -m tandem logs ends --previous`" in done.text
    for host, name in zip((*hosts.hosts, hosts.hosts[0]), (HEAD, WORKER, SERVER), strict=True):
        ended, log = _kept(host, name)[-1]
        assert ended["reason"] == "gave-up:ready"
        assert ("unrecognized arguments: --no-such-flag" in log) == (name == SERVER)


def test_interrupting_a_gate_ends_its_work_on_the_hosts(stack: Project, hosts: Lab) -> None:
    _up(stack)
    first = hosts.hosts[0]
    hosts.partition(hosts.hosts[1])
    stack.change("survey", "off")
    stack.change("hosts.1.env", {"ANOTHER": "1"})
    asking = "pgrep -f '[d]ocker exec --interactive tandem-ends-lab-1-ray-head'"
    running = stack.start("up", "--yes", "--skip-preview")
    _until(lambda: first.ssh(asking).stdout != "", 60)
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=30) != 0
    _until(lambda: first.ssh(asking).stdout == "", 20)
    hosts.heal()
    stack.change("survey", "on")
    stack.pulumi("cancel", "--yes")
    _up(stack)


def test_destroy_takes_the_server_then_the_worker_then_the_head_and_keeps_their_logs(
    stack: Project, hosts: Lab
) -> None:
    before = [
        len(_kept(host, name)) for host, name in zip(hosts.hosts, (HEAD, WORKER), strict=True)
    ]
    done = stack.pulumi(*DESTROY)
    assert done.code == 0, done.text
    order = [f"{name}{part}" for name in (SERVER, WORKER, HEAD) for part in ("-log", "")]
    assert [name for name in _deleted(done) if name in order] == order
    assert {"ends-lab-1-release", "ends-lab-2-release"} <= set(_deleted(done))
    assert _ours(hosts) == ["", ""]
    after = [len(_kept(host, name)) for host, name in zip(hosts.hosts, (HEAD, WORKER), strict=True)]
    assert after == [count + 1 for count in before]


def test_a_process_that_is_left_fails_the_destroy_by_host_and_name(
    stack: Project, hosts: Lab
) -> None:
    _up(stack)
    second = hosts.hosts[1]
    pid = second.ssh("setsid sleep 500 >/dev/null 2>&1 </dev/null & echo $!").stdout.strip()
    # What Docker leaves behind is in the container's cgroup: this one is put into such a one.
    find = f"docker inspect --format '{{{{.State.Pid}}}}' tandem-{WORKER}"
    path = second.ssh(f"sed -n 's/^1:cpu://p' /proc/$({find})/cgroup").stdout.strip()
    assert path, "no cgroup of the controller cpu"
    first_done = stack.pulumi(*DESTROY, "--target", f"**{WORKER}", "--target-dependents")
    assert first_done.code == 0, first_done.text
    cgroup = f"/sys/fs/cgroup/cpu{path}"
    staged = second.ssh(f"mkdir -p {cgroup} && echo {pid} >{cgroup}/cgroup.procs")
    assert staged.returncode == 0, staged.stderr
    done = stack.pulumi(*DESTROY)
    second.ssh(f"kill -9 {pid}; sleep 0.2; rmdir {cgroup}")
    assert done.code != 0
    left = f"process {pid} (sleep, state S) of tandem-{WORKER} is there"
    assert f"waiting until lab-2 is free: {left}" in done.text
    assert (
        f"lab-2 is not free 8 s after its containers were removed:\n    lab-2: {left}" in done.text
    )
    assert _state(stack) - {"ends-identity"} == {"ends-lab-2-release"}


def test_memory_that_is_held_fails_the_next_destroy_by_its_figures_and_one_after_it_finishes(
    stack: Project, hosts: Lab
) -> None:
    second = hosts.hosts[1]
    second.ssh("dd if=/dev/zero of=/dev/shm/held bs=1M count=4096")
    done = stack.pulumi(*DESTROY)
    second.ssh("rm /dev/shm/held")
    assert done.code != 0
    found = re.search(
        r"lab-2: (\S+) GiB of memory are held by no process: available (\S+) GiB before the "
        r"start, (\S+) GiB now, bound 2\.00 GiB",
        done.text,
    )
    assert found, done.text
    # Other programs of the machine move it a little.
    assert 2 < float(found[1]) < 7
    assert _state(stack) - {"ends-identity"} == {"ends-lab-2-release"}
    again = stack.pulumi(*DESTROY)
    assert again.code == 0, again.text
    assert _state(stack) == set()


def test_a_host_without_an_answer_is_told_in_a_few_lines_and_stays_in_the_state(
    stack: Project, hosts: Lab
) -> None:
    _up(stack)
    hosts.cut_link(hosts.hosts[1])
    started = time.monotonic()
    done = stack.pulumi(*DESTROY)
    assert time.monotonic() - started < FEW_SECONDS
    assert done.code != 0
    lines = done.text[done.text.index("Diagnostics:") :].splitlines()
    start = next(n for n, line in enumerate(lines) if "error: host lab-2 does not answer" in line)
    told = [line.strip() for line in lines[start : start + 5]]
    assert told[1:3] == [
        f"not confirmed as removed, and kept in the state: tandem-{WORKER} on lab-2",
        f"it goes before these, which stay, too: tandem-{HEAD}",
    ]
    assert "retired: true" in told[4]
    state = _state(stack)
    assert {HEAD, WORKER, f"{WORKER}-log", "ends-lab-2-release"} <= state
    assert SERVER not in state
    assert hosts.hosts[0].ssh(f"docker inspect tandem-{HEAD}").returncode == 0


def test_a_retired_host_is_let_go_without_an_answer_and_the_others_are_taken_down(
    stack: Project, hosts: Lab
) -> None:
    stack.change("hosts.1.retired", True)
    done = stack.pulumi(*DESTROY, "--run-program")
    assert done.code == 0, done.text
    assert _state(stack) == set()
    assert hosts.hosts[0].ssh("docker ps -aq; docker volume ls -q").stdout == ""
    hosts.heal()
    second = hosts.hosts[1]
    _until(lambda: second.docker_answers(), 30)
    assert second.ssh(f"docker inspect tandem-{WORKER}").returncode == 0
    second.ssh("docker rm -f $(docker ps -aq); docker volume rm $(docker volume ls -q)")
    stack.change("hosts.1.retired", None)


def _until(holds: Callable[[], bool], seconds: int) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.5)
