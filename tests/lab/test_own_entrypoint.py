"""A server that the image's own entrypoint starts: Docker alone counts its restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Lab
from tests.project import Project

SERVER = "tandem-own-lab-1-server"


@pytest.fixture
def project(hosts: Lab, tmp_path: Path) -> Iterator[Project]:
    """Return a stack of one host, whose image is the stand-in with an entrypoint of its own."""
    image = f"{hosts.site.registry}/own-entrypoint:1"
    entrypoint = """--change 'ENTRYPOINT ["vllm", "serve"]'"""
    steps = (
        f"docker create --name own-entrypoint {hosts.stand_in_image}",
        f"docker commit {entrypoint} own-entrypoint {image}",
        f"docker push -q {image}",
        "docker rm own-entrypoint",
    )
    made = hosts.hosts[0].ssh(" && ".join(steps))
    assert made.returncode == 0, made.stderr
    project = Project.copy(tmp_path / "project", "own", "lab-single")
    project.change("image", {"reference": image, "entrypoint": "image"})
    project.change("restarts", {"limit": 2})
    yield project
    project.pulumi("destroy", "--yes", "--skip-preview")
    hosts.hosts[0].ssh(f"docker rmi {image}")


def test_is_left_alone_by_a_second_up_and_stays_down_after_the_limit(
    project: Project, hosts: Lab
) -> None:
    done = project.up()
    assert done.code == 0, done.text
    done = project.pulumi("preview", "--refresh", "--expect-no-changes")
    assert done.code == 0, done.text

    def state(what: str) -> str:
        return hosts.hosts[0].ssh(f"docker inspect -f '{{{{{what}}}}}' {SERVER}").stdout.strip()

    deadline = time.monotonic() + 60
    while state(".State.Status") != "exited":
        assert time.monotonic() < deadline
        hosts.hosts[0].ssh(f"pid={state('.State.Pid')}; [ $pid = 0 ] || kill -9 $pid")
        time.sleep(0.5)
    assert state(".RestartCount") == "2"
