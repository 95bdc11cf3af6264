"""The image gate."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tandem.errors import GateFailed
from tandem.gates.image import look
from tandem.gates.spec import ImageHost, ImageSpec
from tandem.ssh import UNREACHABLE, SshTarget
from tandem.survey.images import known_images
from tests.builders import DIGEST

if TYPE_CHECKING:
    from collections.abc import Callable

    Answer = Callable[[dict[str, Any]], list[tuple[str, ...]]]
    """Sets what `docker run` gives on each host, and returns what it is asked."""

BOTH = {"python": "3.12.11", "ray": "2.60.0", "vllm": "0.32.0"}
RECORD = Path("stacks/images/vllm@aaaaaaaaaaaa.json")
IMAGE = f"registry.example/vllm@{DIGEST}"


def spec(hosts: int = 2, *, needs_ray: bool = True) -> ImageSpec:
    """Return what a gate over so many hosts looks at."""
    members = (ImageHost(f"host-{n}", SshTarget(f"ops@host-{n}")) for n in range(1, hosts + 1))
    return ImageSpec(tuple(members), IMAGE, needs_ray, RECORD.as_posix())


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Return what lets hosts answer."""
    monkeypatch.chdir(tmp_path)
    asked: list[tuple[str, ...]] = []

    def set_answers(answers: dict[str, Any]) -> list[tuple[str, ...]]:
        def run(target: SshTarget, *command: str, **_: Any) -> subprocess.CompletedProcess[str]:
            asked.append(command)
            given = answers[target.destination.removeprefix("ops@")]
            if isinstance(given, dict):
                return subprocess.CompletedProcess(command, 0, json.dumps(given), "")
            status, words = given
            return subprocess.CompletedProcess(command, status, "", words)

        monkeypatch.setattr(SshTarget, "run", run)
        return asked

    return set_answers


def test_versions_are_kept_and_read_by_the_next_survey(
    answer: Answer, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = answer({"host-1": BOTH, "host-2": BOTH})
    assert look(spec()) == BOTH
    (image,) = known_images(RECORD.parent)
    assert (image.digest, image.vllm, image.ray) == (DIGEST, "0.32.0", "2.60.0")
    assert "python 3.12.11, ray 2.60.0, vllm 0.32.0 on host-1, host-2" in capsys.readouterr().err
    for command in asked:
        assert {"--rm", "--network=none", "--pull=never"} <= set(command)
    before = RECORD.stat().st_mtime_ns
    look(spec())
    assert RECORD.stat().st_mtime_ns == before


def test_an_image_without_ray_is_refused_with_the_way_out_and_remembered(
    answer: Answer,
) -> None:
    without = BOTH | {"ray": None}
    answer({"host-1": without, "host-2": without})
    with pytest.raises(GateFailed) as failed:
        look(spec())
    said = str(failed.value)
    assert f"{IMAGE} has no Ray (vLLM 0.32.0, Python 3.12.11), and 2 hosts need it" in said
    assert f"`FROM {IMAGE}` and `RUN pip install ray==" in said
    (image,) = known_images(RECORD.parent)
    assert image.ray is None


def test_a_single_host_needs_no_ray(
    answer: Answer,
) -> None:
    without = BOTH | {"ray": None}
    answer({"host-1": without})
    assert look(spec(1, needs_ray=False)) == without


def test_versions_that_differ_are_told_by_host_and_not_kept(
    answer: Answer,
) -> None:
    answer({"host-1": BOTH, "host-2": BOTH | {"vllm": "0.19.1", "ray": None}})
    with pytest.raises(GateFailed) as failed:
        look(spec())
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
    answer: Answer, given: tuple[int, str], said: str
) -> None:
    answer({"host-1": BOTH, "host-2": given})
    with pytest.raises(GateFailed, match=said):
        look(spec())


def test_the_spec_travels_as_json() -> None:
    assert ImageSpec.from_json(spec().to_json()) == spec()
