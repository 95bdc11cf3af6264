"""What cannot work is refused in one clear line before anything on a host is touched."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Lab
from tests.project import Project

SETTINGS = {
    "unknown key": ("serve.maxModelLength", 512, "unknown-key", 'did you mean "maxModelLen"?'),
    "two equal names": ("hosts.1.name", "lab-1", "name-twice", '"lab-1" is taken'),
    "two equal addresses": ("hosts.1.address", "10.77.0.1", "address-twice", "10.77.0.1 is"),
    "more ranks than GPUs": ("serve.tensorParallel", 4, "gpus-too-few", "needs 4 GPUs"),
}
HOSTS = {
    "unreachable host": ("hosts.1.ssh", "root@10.77.0.99", "host-unreachable", "10.77.0.99"),
    "wrong host key": ("hosts.1.ssh", "lab-2-stranger", "host-unreachable", "Host key"),
    "no access to Docker": ("hosts.1.ssh", "lab-2-visitor", "docker-not-usable", "group docker"),
    "no model there": ("model.source.path", "/srv/nothing", "model-missing", "/srv/nothing"),
    "no such image": (
        "image.reference",
        "10.77.0.254:5000/nothing:1",
        "image-missing",
        "10.77.0.254:5000/nothing:1",
    ),
    "longer than the model": (
        "serve.maxModelLen",
        100000,
        "length-above-model",
        "greater than the model's own (4096)",
    ),
    "port taken": ("serve.port", 2222, "port-taken", "port 2222 of lab-1"),
}
CASES = SETTINGS | HOSTS


@pytest.fixture
def project(hosts: Lab, tmp_path: Path) -> Iterator[Project]:
    project = Project.copy(tmp_path / "project", "refused", "lab")
    yield project
    project.pulumi("destroy", "--yes", "--skip-preview")


def _docker_objects(hosts: Lab) -> list[str]:
    words = "docker ps -aq; docker volume ls -q; docker images -q | sort"
    return [host.ssh(words).stdout for host in hosts.hosts]


@pytest.mark.parametrize("case", CASES)
def test_is_refused_in_one_line_and_nothing_is_touched(
    case: str, project: Project, hosts: Lab
) -> None:
    key, value, code, words = CASES[case]
    before = _docker_objects(hosts)
    project.change(key, value)
    done = project.up()
    said = [line for line in done.text.splitlines() if f"[{code}]" in line]
    assert done.code not in (0, 7), done.text
    assert said and words in said[0], done.text
    # Shown live and again in the diagnostics; a fault of both hosts is a line for each.
    assert len({line[line.index("tandem:") :] for line in said}) <= len(hosts.hosts), done.text
    assert "Traceback" not in done.text
    assert "BEGIN OPENSSH" not in done.text
    assert _docker_objects(hosts) == before


def test_missing_hosts_are_named(project: Project) -> None:
    text = project.stack_file.read_text().replace("tandem:hosts:", "tandem:host:")
    project.stack_file.write_text(text)
    done = project.up()
    assert done.code not in (0, 7)
    assert "tandem:hosts" in done.text
    assert "Traceback" not in done.text
