"""`status` and `logs` on real hosts, with the light image that stands in for vLLM."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from lab import Lab
from tandem.ssh import SshTarget
from tests.project import Project
from tests.shell import hang_up

ROOT = Path(__file__).parents[2]
STACK = "running"
WORKER = f"tandem-{STACK}-lab-2-ray-worker"
ASK = """
import json, sys, urllib.request
question = [{"role": "user", "content": "go on"}]
body = {"model": "tiny-qwen3", "messages": question, "max_tokens": 1600}
headers = {"Content-Type": "application/json"}
url = sys.argv[1] + "/v1/chat/completions"
urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
"""


@dataclass(frozen=True)
class Command:
    """A command that ended: its status, both streams, and how long it took."""

    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True)
class Deployment:
    """A stack that is up."""

    hosts: Lab
    project: Project

    def tandem(self, *words: str) -> Command:
        """Run ``python -m tandem`` on the stack."""
        began = time.monotonic()
        with self.start(*words) as process:
            out, err = process.communicate()
        assert "Traceback" not in err
        return Command(process.returncode, out, err, time.monotonic() - began)

    def start(self, command: str, *words: str) -> subprocess.Popen[str]:
        """Start ``python -m tandem`` on the stack."""
        argv = [sys.executable, "-m", "tandem", command, str(self.project.stack_file), *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)

    def status(self) -> tuple[int, dict[str, Any]]:
        """Return the exit status and the facts."""
        done = self.tandem("status", "--json")
        return done.code, json.loads(done.out)

    def connections(self) -> list[int]:
        """Return how many connections each host's sshd has accepted."""
        logs = (host.folder / "data/changes/var/log/sshd.log" for host in self.hosts.hosts)
        return [log.read_text().count("Accepted ") for log in logs]

    def disconnect(self) -> None:
        """End the connections that are kept open."""
        for host in self.hosts.hosts:
            hang_up(SshTarget(host.name, ("-F", str(self.hosts.ssh_config))))

    def repair(self) -> None:
        """Bring all back."""
        done = self.project.up("--refresh")
        assert done.code == 0, done.text


@pytest.fixture(scope="module")
def deployment(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Return a deployment where all is well."""
    project = Project.copy(tmp_path_factory.mktemp("running") / "project", STACK, "lab")
    project.change("image.reference", hosts.stand_in_image)
    done = project.up()
    assert done.code == 0, done.text
    yield Deployment(hosts, project)
    hosts.heal()
    project.pulumi("destroy", "--yes", "--skip-preview")


@pytest.fixture
def kept(hosts: Lab) -> Iterator[None]:
    """Keep two logs of containers that are gone, in the form in which hosts keep them."""
    record = {"reason": "gave-up:ready", "kept": "2026-11-30T12:20:00Z", "exitCode": 137}
    for host, role in zip(hosts.hosts, ("server", "worker"), strict=True):
        folder = f".local/state/tandem/{STACK}/tandem-{STACK}-{host.name}-{role}"
        said = json.dumps({**record, "host": host.name, "role": role, "oomKilled": True})
        second = "1" if role == "server" else "0"
        line = f"2026-11-30T12:19:0{second}.000000000Z words of the {role}"
        host.ssh(f"mkdir -p {folder}; cat >{folder}/20261130T122000Z.json", stdin=said)
        host.ssh(f"cat >{folder}/20261130T122000Z.log", stdin=f"{line}\n")
    yield
    for host in hosts.hosts:
        host.ssh(f"rm -r .local/state/tandem/{STACK}")


def rows(facts: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the rows by role, a silent host's by its name."""
    return {row["role"] or row["host"]: row for row in facts["rows"]}


def test_all_that_runs_is_a_row_and_fits_the_terminal(deployment: Deployment) -> None:
    done = deployment.tandem("status")
    assert (done.code, done.err) == (0, "")
    assert f"{STACK}: 3 of 3 as they should be, the server answers" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    code, facts = deployment.status()
    seen = rows(facts)
    assert code == 0
    assert {role: (row["host"], row["ranks"]) for role, row in seen.items()} == {
        "head": ("lab-1", [0]),
        "server": ("lab-1", []),
        "worker": ("lab-2", [1]),
    }
    for row in seen.values():
        assert (row["state"], row["restarts"]) == ("running", 0)
        assert 0 <= row["seconds"] < 600
        assert 0 < row["host_available"] <= row["host_total"]


def test_the_memory_is_what_docker_stats_says(deployment: Deployment) -> None:
    said = deployment.hosts.hosts[1].ssh(
        f"docker stats --no-stream --format '{{{{.MemUsage}}}}' {WORKER}"
    )
    docker = float(said.stdout.partition("MiB")[0])
    ours = rows(deployment.status()[1])["worker"]["memory"] / 1024**2
    assert ours == pytest.approx(docker, rel=0.2)


def test_a_request_shows_while_it_runs(deployment: Deployment) -> None:
    url = deployment.project.outputs()["endpoint"].removesuffix("/v1")
    with subprocess.Popen([sys.executable, "-c", ASK, url]) as client:
        time.sleep(1)
        load = deployment.status()[1]["load"]
        assert client.wait(60) == 0
    assert (load["running"], load["waiting"]) == (1, 0)
    # The stand-in writes 200 tokens a second.
    assert 100 < load["generation_rate"] < 250
    load = deployment.status()[1]["load"]
    assert (load["running"], load["generation_rate"]) == (0, 0)


def test_watching_takes_one_connection_a_host_and_ends_with_ctrl_c(deployment: Deployment) -> None:
    deployment.disconnect()
    before = deployment.connections()
    with deployment.start("status", "--watch") as process:
        assert process.stdout is not None
        looks = (line for line in process.stdout if line.startswith(f"{STACK}: 3 of 3"))
        assert len(list(islice(looks, 4))) == 4
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert deployment.connections() == [count + 1 for count in before]


def test_lines_of_all_hosts_are_merged(deployment: Deployment) -> None:
    done = deployment.tandem("logs")
    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert any("lab-1  server  20" in line and "Starting vLLM" in line for line in lines)
    assert any("lab-2  worker  20" in line and "joined" in line for line in lines)
    times = [line[15:38] for line in lines]
    assert times == sorted(times)
    only = deployment.tandem("logs", "--host", "lab-2", "--lines", "1").out.splitlines()
    assert len(only) == 1 and only[0].startswith("lab-2  worker  ")


def test_what_was_kept_is_shown_merged_under_its_headers(
    deployment: Deployment, kept: None
) -> None:
    done = deployment.tandem("logs", "--previous")
    assert (done.code, done.err) == (0, "")
    noted, _, lines = done.out.partition("\n\n")
    first, second = noted.replace("\n    ", " ").splitlines()
    assert first.startswith("lab-1 server: kept at 2026-11-30 12:20:00, gave up: ready")
    assert second.startswith("lab-2 worker: kept at ") and "out of memory" in second
    words = [line.partition("words")[2] for line in lines.splitlines()]
    assert words == [" of the worker", " of the server"]


def test_following_goes_on_over_a_replaced_container_and_leaves_nothing_behind(
    deployment: Deployment,
) -> None:
    with deployment.start("logs", "--follow", "--lines", "1") as process:
        time.sleep(3)
        deployment.project.change("serve.maxModelLen", 256)
        done = deployment.project.up()
        assert done.code == 0, done.text
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert out.count("Starting vLLM API server") >= 1
    assert "Maximum concurrency for 256 tokens" in out
    lines = out.splitlines()
    assert len(lines) == len(set(lines))
    for host in deployment.hosts.hosts:
        commands = [" ".join(process.command) for process in host.processes()]
        assert [command for command in commands if "docker logs" in command] == []


def test_a_host_that_does_not_answer_is_one_row_and_the_rest_is_shown(
    deployment: Deployment,
) -> None:
    second = deployment.hosts.hosts[1]
    deployment.hosts.cut_link(second)
    try:
        done = deployment.tandem("status")
        assert done.code == 1
        assert "lab-2: no answer: " in done.out
        assert "lab-1  head    0     running" in done.out
        assert done.seconds < 15
        logs = deployment.tandem("logs")
        assert logs.code == 1
        assert logs.err.startswith("lab-2 does not answer: ")
        assert logs.err.count("\n") == 1
        assert "lab-1  head" in logs.out
    finally:
        deployment.hosts.heal()
    deployment.repair()


def test_a_container_that_was_killed_is_told(deployment: Deployment) -> None:
    deployment.hosts.hosts[1].kill(WORKER)
    code, facts = deployment.status()
    row = rows(facts)["worker"]
    assert code == 7
    assert row["state"] == "exited"
    assert row["reason"].startswith("exited, exit status 137")
    deployment.repair()
    assert deployment.status()[0] == 0


def test_after_a_destroy_all_are_missing_and_what_was_kept_is_there(
    deployment: Deployment,
) -> None:
    done = deployment.project.pulumi("destroy", "--yes", "--skip-preview")
    assert done.code == 0, done.text
    code, facts = deployment.status()
    assert code == 7
    assert {row["state"] for row in facts["rows"]} == {"missing"}
    logs = deployment.tandem("logs")
    assert (logs.code, logs.out) == (0, "")
    assert "--previous" in logs.err
    previous = deployment.tandem("logs", "--previous").out
    for container in ("lab-1 head", "lab-1 server", "lab-2 worker"):
        assert f"{container}: kept at " in previous
    assert "lab-1  head" in previous
