"""The image gate against real hosts and images."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tandem.gates.spec import ImageHost, ImageSpec
from tandem.ssh import SshTarget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab import Lab

ROOT = Path(__file__).parents[2]
RECORD = "stacks/images/vllm.json"
NAME = "tandem-image-test:1"
WITHOUT_RAY = "rm -r /opt/venv/lib/python3.11/site-packages/ray-*.dist-info"
STATE = "docker ps -aq; docker volume ls -q; docker images -q | sort"


@pytest.fixture
def images(hosts: Lab) -> Iterator[str]:
    """Return an image's name of the test's own that stands for the lab's image on both hosts."""
    for host in hosts.hosts:
        done = host.ssh(
            f"docker pull -q {hosts.image} && docker tag {hosts.image} {NAME}", timeout=600
        )
        assert done.returncode == 0, done.stderr
    yield NAME
    for host in hosts.hosts:
        host.ssh(f"docker rmi --force {NAME}")


def without_ray(hosts: Lab, *numbers: int) -> None:
    """Let the name stand for an image without Ray on some hosts."""
    for number in numbers:
        run = f"docker run --name made --entrypoint sh {NAME} -c '{WITHOUT_RAY}'"
        done = hosts.hosts[number].ssh(f"{run} && docker commit made {NAME}; docker rm made")
        assert done.returncode == 0, done.stderr


def gate(hosts: Lab, image: str, folder: Path) -> tuple[int, str, list[str]]:
    """Run the gate as Pulumi runs it; return exit status, output and the lines of its errors."""
    options = ("-F", str(hosts.ssh_config))
    members = tuple(ImageHost(host.name, SshTarget(host.name, options)) for host in hosts.hosts)
    spec = ImageSpec(members, image, needs_ray=True, record=RECORD)
    done = subprocess.run(
        [sys.executable, "-m", "tandem.gates.image"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(Path.home())},
        input=spec.to_json(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.splitlines()


def test_the_labs_image_is_looked_into_once_and_nothing_is_left(
    hosts: Lab, images: str, tmp_path: Path
) -> None:
    before = [host.ssh(STATE).stdout for host in hosts.hosts]
    code, output, said = gate(hosts, hosts.image, tmp_path)
    assert code == 0, said
    found = json.loads(output)
    assert (found["ray"], found["vllm"]) == ("2.60.0", "0.32.0+cpu")
    kept = json.loads((tmp_path / RECORD).read_text())
    assert kept == {"digest": hosts.image.partition("@")[2], **found}
    assert [host.ssh(STATE).stdout for host in hosts.hosts] == before


def test_an_image_without_ray_is_refused_before_any_container_of_it_stays(
    hosts: Lab, images: str, tmp_path: Path
) -> None:
    without_ray(hosts, 0, 1)
    before = [host.ssh(STATE).stdout for host in hosts.hosts]
    code, output, said = gate(hosts, images, tmp_path)
    assert (code, output) == (1, "")
    assert f"{NAME} has no Ray (vLLM 0.32.0+cpu, Python 3.11." in said[-1]
    assert "and 2 hosts need it; build an image of two lines" in said[-1]
    assert [host.ssh(STATE).stdout for host in hosts.hosts] == before


def test_an_image_that_is_another_one_on_one_host_is_told_with_both_values(
    hosts: Lab, images: str, tmp_path: Path
) -> None:
    without_ray(hosts, 1)
    code, _, said = gate(hosts, images, tmp_path)
    assert code == 1
    assert said[:2] == [
        "error: the image is not the same everywhere:",
        "ray differs: 2.60.0 on lab-1, none on lab-2",
    ]
    assert not (tmp_path / RECORD).exists()
