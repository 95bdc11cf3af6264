"""What docker says of itself."""

import pytest

from tandem.survey.docker import read_containers, read_docker, read_images
from tandem.survey.facts import HostFacts
from tests.builders import DIGEST


@pytest.mark.parametrize("version", ["29.1.3", "28.0.0-rc.1", "24.0.5+azure"])
def test_a_version_means_that_docker_can_be_used(version: str) -> None:
    docker = read_docker(f"{version} 1.52", "", "", "")
    assert (docker.problem, docker.version) == (None, version)


def test_a_warning_before_dockers_version_is_no_problem() -> None:
    assert read_docker("WARNING: x\n29.1.3 1.52", "", "", "").problem is None


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("timeout: failed to run command 'docker': No such file or directory",) * 2,
        (
            "\npermission denied while trying to connect",
            "permission denied while trying to connect",
        ),
        ("", "no answer"),
    ],
)
def test_what_docker_says_instead_is_kept(said: str, problem: str) -> None:
    assert read_docker(said, "", "", "").problem == problem


def test_information_that_is_cut_off_leaves_the_version() -> None:
    docker = read_docker("29.1.3 1.52", '{"Driver":"over', "", "")
    assert (docker.version, docker.gpu_ways) == ("29.1.3", None)


def test_a_range_of_published_ports_is_each_of_them() -> None:
    ports = "0.0.0.0:90-92->90-92/tcp, [::]:53->53/udp, 8080/tcp"
    (container,) = read_containers(f"1\tweb\t\t\t\t{ports}", "")
    assert container.published == {90, 91, 92}


def test_an_image_that_is_not_there_is_none() -> None:
    assert read_images("") == ()


def test_an_image_that_was_pulled_by_digest_is_found_without_a_tag() -> None:
    digest = f"registry.example/vllm@{DIGEST}"
    host = HostFacts(name="host-1", images=read_images(f"sha256:1\tamd64\t20\t{digest} \n"))
    found = host.image_named(digest)
    assert found is not None
    assert (found.id, found.architecture, found.size) == ("sha256:1", "amd64", 20)
    assert host.image_named("registry.example/vllm:1") is None
