"""The image gate."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tandem.errors import GateFailed
from tandem.gates.image import look
from tandem.gates.spec import ImageSpec
from tandem.ssh import UNREACHABLE
from tandem.survey.images import known_images
from tests.builders import DIGEST, image_spec
from tests.shell import host_here, program
from tests.unit.gates.docker import IMAGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.unit.gates.docker import FakeDocker

BOTH: dict[str, str | None] = {
    "python": platform.python_version(),
    "ray": "2.60.0",
    "vllm": "0.32.0",
}
RECORD = Path("stacks/images/vllm@aaaaaaaaaaaa.json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def install(docker: FakeDocker, *images: Mapping[str, str | None]) -> None:
    """Let each host's image have these versions."""
    for number, image in enumerate(images, start=1):
        installed = {name: version for name, version in image.items() if version is not None}
        docker.versions[f"host-{number}"] = installed


def test_versions_are_kept_and_read_by_the_next_survey(
    docker: FakeDocker, capsys: pytest.CaptureFixture[str]
) -> None:
    install(docker, BOTH, BOTH)
    assert look(image_spec()) == BOTH
    (image,) = known_images(RECORD.parent)
    assert (image.digest, image.vllm, image.ray) == (DIGEST, "0.32.0", "2.60.0")
    said = capsys.readouterr().err
    assert f"python {BOTH['python']}, ray 2.60.0, vllm 0.32.0 on host-1, host-2" in said
    before = RECORD.stat().st_mtime_ns
    look(image_spec())
    assert RECORD.stat().st_mtime_ns == before


def test_a_container_that_tells_versions_does_not_stay_and_reaches_nothing(
    docker: FakeDocker,
) -> None:
    install(docker, BOTH)
    look(image_spec(1))
    options = ["--rm", "--interactive", "--pull=never", "--network=none", "--log-driver=none"]
    words = ["run", *options, "--entrypoint=python3", IMAGE, "-"]
    assert docker.asked == [("host-1", "180", words)]


def test_an_image_without_ray_is_refused_with_the_way_out_and_remembered(
    docker: FakeDocker,
) -> None:
    without = BOTH | {"ray": None}
    install(docker, without, without)
    with pytest.raises(GateFailed) as failed:
        look(image_spec())
    said = str(failed.value)
    assert f"{IMAGE} has no Ray (vLLM 0.32.0, Python {BOTH['python']}), and 2 hosts need it" in said
    assert f"`FROM {IMAGE}` and `RUN pip install ray==" in said
    (image,) = known_images(RECORD.parent)
    assert image.ray is None


def test_a_single_host_needs_no_ray(
    docker: FakeDocker,
) -> None:
    without = BOTH | {"ray": None}
    install(docker, without)
    assert look(image_spec(1, needs_ray=False)) == without


def test_versions_that_differ_are_told_by_host_and_not_kept(
    docker: FakeDocker,
) -> None:
    install(docker, BOTH, BOTH | {"vllm": "0.19.1", "ray": None})
    with pytest.raises(GateFailed) as failed:
        look(image_spec())
    lines = str(failed.value).splitlines()
    assert lines[1:3] == [
        "ray differs: 2.60.0 on host-1, none on host-2",
        "vllm differs: 0.32.0 on host-1, 0.19.1 on host-2",
    ]
    assert not RECORD.exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            (UNREACHABLE, "Connection timed out"),
            "host host-2 does not answer: Connection timed out",
        ),
        ((127, 'exec: "python3": not found'), "host-2 can't run the image's python3: exec:"),
        ((124, ""), "host-2 can't run the image's python3: no answer within 180 s"),
    ],
)
def test_a_host_that_can_not_tell_is_named(
    docker: FakeDocker, given: tuple[int, str], said: str
) -> None:
    install(docker, BOTH)
    docker.failures["host-2"] = given
    with pytest.raises(GateFailed, match=said):
        look(image_spec())


@pytest.mark.parametrize("words", ["", "Welcome to this host"])
def test_a_host_whose_shell_runs_nothing_is_named(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(host_here(tmp_path, monkeypatch) / "ssh", f"printf %s '{words}'")
    said = f"it said '{words}'" if words else "it said nothing"
    with pytest.raises(GateFailed, match=f"host-1 can't run the image's python3: {said}"):
        look(image_spec())


def test_the_spec_travels_as_json() -> None:
    assert ImageSpec.from_json(image_spec().to_json()) == image_spec()
