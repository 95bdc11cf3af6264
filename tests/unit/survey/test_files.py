"""Files beside the stack file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tandem.errors import InvalidStack
from tandem.survey import files
from tests.builders import DIGEST, settings


def test_config_json_is_read_relative_to_the_stack_file(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"hidden_size": 64}')
    read = files(settings(1, {"model.config": "model.json"}), tmp_path)
    assert read.model is not None
    assert read.model.config == {"hidden_size": 64}
    assert (read.hosts, read.starts) == ((), ())


def test_without_files_nothing_is_known(tmp_path: Path) -> None:
    read = files(settings(), tmp_path)
    assert (read.model, read.starts) == (None, ())


@pytest.mark.parametrize(
    "text", ["{", "{}x", "[1]", json.dumps([{"start": {}}]), json.dumps([{"start": 1}])]
)
def test_records_that_no_gate_wrote_are_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "starts.json").write_text(text)
    with pytest.raises(InvalidStack) as invalid:
        files(settings(), tmp_path)
    assert str(invalid.value).endswith(
        "starts.json: this is not what a start wrote; restore the file or remove it "
        "[starts-unreadable]"
    )


def test_what_an_up_found_in_an_image_is_read(tmp_path: Path) -> None:
    held = {"digest": DIGEST, "python": "3.12.11", "ray": None, "vllm": "0.19.1"}
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "vllm@aaaa.json").write_text(json.dumps(held))
    (image,) = files(settings(), tmp_path).images
    assert (image.digest, image.ray, image.vllm) == (DIGEST, None, "0.19.1")


@pytest.mark.parametrize("text", ["{", "[1]", json.dumps({"digest": DIGEST})])
def test_a_record_of_images_that_no_gate_wrote_is_told_in_one_line(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "vllm@aaaa.json").write_text(text)
    with pytest.raises(InvalidStack, match=r"vllm@aaaa\.json: .* \[image-unreadable\]$"):
        files(settings(), tmp_path)
