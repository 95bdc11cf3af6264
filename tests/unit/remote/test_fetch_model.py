"""The program that fetches a model, with the real huggingface_hub; the Hub is a stand-in."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tandem.remote import fetch_model, source
from tandem.remote.fetch_model import Entry, Folder, Progress, needed
from tests.hub import COMMIT, StandInHub, shard, stand_in_hub

LARGE = "model-00001-of-00002.safetensors"
FILES = {
    "config.json": b"{}",
    "tokenizer/special.json": b"[1]",
    LARGE: shard(a=24_000_000),
    "model-00002-of-00002.safetensors": shard(b=20_000),
    "consolidated.safetensors": shard(a=7),
    "original/consolidated.00.pth": bytes(99),
    ".gitattributes": b"*.safetensors filter=lfs",
}
FETCHED = {name for name in FILES if not name.startswith((".", "consol", "orig"))}
TOKEN = "hf_of_the_tests"
HERE = "127.0.0.1"


@pytest.fixture
def hub() -> Iterator[StandInHub]:
    with stand_in_hub() as hub:
        hub.models["org/model"] = dict(FILES)
        yield hub


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of an empty volume."""
    made = tmp_path / "model"
    made.mkdir()
    return made


def run(hub: StandInHub, folder: Path, **asked: Any) -> subprocess.CompletedProcess[str]:
    """Run the program as a container does."""
    plain = {"model": "org/model", "revision": COMMIT, "endpoint": hub.address, "token": None}
    question = {**plain, "names": None, "wrong": [], **asked}
    # An image may be told to stay offline: lab's is.
    environment = os.environ | {"NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", source("fetch_model.py"), str(folder)],
        env={name: value for name, value in environment.items() if name != "HF_TOKEN"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        # The input stays open until it is over.
        said, errors = process.stdout.read(), process.stderr.read()
        code = process.wait(timeout=60)
    return subprocess.CompletedProcess([], code, said, errors)


def files(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder that count."""
    return {
        name: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not (name := str(path.relative_to(folder))).startswith(".")
    }


def last(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_what_vllm_needs_is_fetched_and_told_with_its_hashes(hub: StandInHub, folder: Path) -> None:
    done = run(hub, folder)
    assert done.returncode == 0, done.stderr
    assert files(folder) == {name: FILES[name] for name in FETCHED}
    answer = json.loads(done.stdout)
    assert answer == {
        name: {"size": len(FILES[name]), "sha256": hashlib.sha256(FILES[name]).hexdigest()}
        for name in FETCHED
    }
    kept = json.loads((folder / ".tandem" / "manifest.json").read_text())
    assert kept == {"model": "org/model", "revision": COMMIT, "files": answer}
    assert list((folder / ".tandem" / "parts").iterdir()) == []
    assert done.stderr == f"fetched 4 of 4 files, 0.02 GiB, from {hub.address}\n"


def test_the_second_time_nothing_is_fetched(hub: StandInHub, folder: Path) -> None:
    first = run(hub, folder)
    before = hub.given.copy()
    again = run(hub, folder)
    assert (again.stdout, again.stderr) == (first.stdout, "")
    assert hub.given == before


def test_what_broke_off_is_read_on_by_the_next_run(hub: StandInHub, folder: Path) -> None:
    hub.cut[LARGE] = 15_000_000
    assert last(run(hub, folder)).startswith(f"{LARGE}: {hub.address}: ")
    assert LARGE not in files(folder)
    hub.heal()
    assert run(hub, folder).returncode == 0
    assert files(folder)[LARGE] == FILES[LARGE]
    # huggingface_hub writes blocks of 10 MB, and the one that was coming is lost.
    assert hub.given == {(HERE, LARGE): len(FILES[LARGE]) - 10 * 1024**2}


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (None, "be read, if it has it (401); where `pulumi up` runs, set the variable HF_TOKEN to"),
        ("hf_other", "(403); the token in HF_TOKEN may not read it: accept the model's terms at"),
    ],
)
def test_a_model_that_may_not_be_read_says_where_the_token_goes(
    hub: StandInHub, folder: Path, token: str | None, words: str
) -> None:
    hub.token = TOKEN
    said = last(run(hub, folder, token=token))
    assert words in said
    assert "hf_other" not in said
    assert run(hub, folder, token=TOKEN).returncode == 0


def test_only_what_is_wrong_is_fetched_again_and_what_is_extra_goes(
    hub: StandInHub, folder: Path
) -> None:
    run(hub, folder)
    (folder / LARGE).write_bytes(FILES[LARGE][:-1] + b"x")
    (folder / "config.json").write_bytes(b"[]")
    (folder / "model-00003.safetensors").write_bytes(b"of another commit")
    hub.given.clear()
    assert run(hub, folder, wrong=[LARGE]).returncode == 0
    assert files(folder) == {name: FILES[name] for name in FETCHED}
    assert hub.given == {(HERE, LARGE): len(FILES[LARGE]), (HERE, "config.json"): 2}


def test_what_the_hub_gives_has_to_be_what_it_announced(hub: StandInHub, folder: Path) -> None:
    hub.spoiled["config.json"] = b"[]"
    said = last(run(hub, folder))
    assert said == f"config.json: {hub.address} gave another file than it had announced"
    assert run(hub, folder).returncode == 0
    assert files(folder)["config.json"] == b"{}"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"revision": "d" * 40}, f"has no org/model at commit {'d' * 40}"),
        ({"names": ["gone.json"]}, "has no gone.json of org/model at commit"),
        ({"endpoint": "http://127.0.0.1:9"}, "http://127.0.0.1:9: "),
    ],
)
def test_what_the_hub_does_not_have_is_told_in_one_line(
    hub: StandInHub, folder: Path, asked: dict[str, Any], words: str
) -> None:
    done = run(hub, folder, **asked)
    assert words in last(done)
    assert "Traceback" not in done.stderr
    assert files(folder) == {}


def test_a_disk_without_room_is_told_before_anything_is_fetched(
    hub: StandInHub, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = {"rfilename": "a.bin", "size": 1 << 60, "blobId": "0" * 40}
    listed = {"id": "org/model", "sha": COMMIT, "siblings": [huge]}
    monkeypatch.setattr(hub, "listing", lambda model: listed)
    assert last(run(hub, folder)).startswith("1073741824.00 GiB are to come, ")


def test_how_far_it_is_is_told_with_rate_and_time_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fetch_model, "REPORT_SECONDS", 0.2)
    entries = {name: Entry(1024**2, None, "b" * 40) for name in ("here", "coming")}
    folder = Folder(tmp_path, entries)
    folder.file("here").write_bytes(bytes(1024**2))
    progress = Progress(folder, 2 * 1024**2)
    folder.part("coming").write_bytes(bytes(1024**2 // 2))
    deadline = time.monotonic() + 10
    said = ""
    while "left" not in said and time.monotonic() < deadline:
        time.sleep(0.05)
        said += capsys.readouterr().err
    progress.end()
    assert re.match(r"0\.0 of 0\.0 GiB fetched, 0\.00\d GiB/s, [01] s left\n", said)


OTHER_FORMS = (
    *("bin", "pt", "pth", "ckpt", "gguf", "ggml", "h5", "msgpack", "onnx", "onnx_data", "ot"),
    *("tflite", "npz", "nemo"),
)


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_beside_safetensors_another_form_of_the_weights_is_left_out(form: str) -> None:
    assert needed(["a.safetensors", f"model.{form}"]) == ["a.safetensors"]
    assert needed([f"model.{form}", f"sub/model.{form}"]) == [f"model.{form}"]
    assert needed(["a.safetensors", "sub/b.safetensors"]) == ["a.safetensors"]


def test_without_safetensors_the_weights_are_those_of_the_top_folder() -> None:
    names = ["config.json", "pytorch_model.bin", "original/a.pth", "a.lock", ".cache/x.json"]
    assert needed(names) == ["config.json", "pytorch_model.bin"]
    assert needed(["consolidated.safetensors", "params.json"]) == [
        "consolidated.safetensors",
        "params.json",
    ]
