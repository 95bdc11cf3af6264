"""What an interrupted run left in the way of a new container, on a host that is this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.errors import GateFailed
from tandem.gates.unrecorded import remove_unrecorded
from tests.builders import watched
from tests.shell import host_here, program

WORKER = "tandem-test-host-2-ray-worker"
DOCKER = """echo "$*" >>"$0.asked"
case $1 in
inspect) {inspect} ;;
*) {remove} ;;
esac
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let `ssh` run its command here; return the folder of the programs."""
    return host_here(tmp_path, monkeypatch)


def docker(host: Path, inspect: str, remove: str = ":") -> None:
    """Let `docker inspect`, and what stops and removes, do this."""
    program(host / "docker", DOCKER.format(inspect=inspect, remove=remove))


def asked(host: Path) -> list[str]:
    return [line.split()[0] for line in (host / "docker.asked").read_text().splitlines()]


def test_a_container_of_this_deployment_is_stopped_and_removed(host: Path) -> None:
    docker(host, "echo 0123abcd this-one")
    assert remove_unrecorded(watched(2), "this-one")
    lines = (host / "docker.asked").read_text().splitlines()
    label = '{{.Id}} {{index .Config.Labels "dev.tandem.deployment"}}'
    assert lines == [
        f"inspect --type=container --format {label} {WORKER}",
        "stop --time 30 0123abcd",
        "rm --force 0123abcd",
    ]


@pytest.mark.parametrize("found", ["0123abcd another-one", "0123abcd ", "0123abcd <no value>"])
def test_what_is_of_another_deployment_or_of_somebody_else_stays(host: Path, found: str) -> None:
    docker(host, f"echo '{found}'")
    assert not remove_unrecorded(watched(2), "this-one")
    assert asked(host) == ["inspect"]


def test_where_there_is_none_nothing_is_done(host: Path) -> None:
    docker(host, "echo Error: No such container >&2; exit 1")
    assert not remove_unrecorded(watched(2), "this-one")
    assert asked(host) == ["inspect"]


def test_a_container_that_does_not_go_is_told_with_dockers_words(host: Path) -> None:
    docker(host, "echo 0123abcd this-one", "echo did not receive an exit event >&2; exit 1")
    with pytest.raises(GateFailed, match=f"{WORKER} on host-2.*did not receive an exit event"):
        remove_unrecorded(watched(2), "this-one")


def test_a_host_that_does_not_answer_is_named(host: Path) -> None:
    program(host / "ssh", "echo Connection timed out >&2\nexit 255")
    with pytest.raises(GateFailed, match="host host-2 does not answer: Connection timed out"):
        remove_unrecorded(watched(2), "this-one")
