"""`python -m tandem plan`, as a user types it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from tandem.cli import plan
from tandem.cli.main import main
from tandem.errors import HubFailed
from tandem.survey.facts import HubFacts, ModelFacts
from tandem.units import GIB
from tests.builders import changed
from tests.models import config

CONFIGS = Path(__file__).parents[2] / "cases" / "configs"
FITS = """\
pair: fits
org/model, tensor parallel 2, pipeline parallel 1

rank  host                  stage      weights               reserve     left for KV cache
   0  host-1                    0    58.03 GiB       0.56 - 9.57 GiB     28.17 - 37.17 GiB
   1  host-2                    0    58.03 GiB       0.56 - 9.57 GiB     28.17 - 37.17 GiB

# weights  + reserve  = KV cache  . left to others
host-1  [#######################++++===========..........]  119.70 GiB
host-2  [#######################++++===========..........]  119.70 GiB

KV cache  1,174 blocks of 2,096 tokens, 614,128 tokens
          a request of 262,144 tokens needs 3.09 GiB
          9.1 to 12.0 such requests fit at once; the longest that surely fits has
          262,144 tokens
vLLM      0.19, utilization 0.8
weights   118.40 GiB, declared
"""
SPARK = {"total": "119.7GiB", "unified": True}


@pytest.fixture
def stack_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the stack file of two hosts with one unified memory each, in its folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stacks").mkdir()
    shutil.copy(CONFIGS / "Qwen3.5-122B-A10B.json", tmp_path / "stacks" / "config.json")
    said = changed(
        2,
        {
            "hosts.0.memory": SPARK,
            "hosts.1.memory": SPARK,
            "image.vllm": "0.19.1",
            "model.config": "config.json",
            "model.weights": "118.4GiB",
            "serve.maxModelLen": 262144,
            "serve.maxNumSeqs": 32,
            "serve.gpuMemoryUtilization": 0.8,
        },
    )
    path = tmp_path / "stacks" / "Pulumi.pair.yaml"
    config = {f"tandem:{key}": value for key, value in said.items()}
    path.write_text(yaml.safe_dump({"config": config | {"other:token": {"secure": "v1:abc"}}}))
    return path


def test_what_fits_is_shown_by_rank_and_host(
    stack_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", str(stack_file), "--offline"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "pair: fits"
    assert max(map(len, said)) <= 100
    ranks = [line.split()[:4] for line in said if line.startswith("   ")][:2]
    assert ranks == [["0", "host-1", "0", "58.03"], ["1", "host-2", "0", "58.03"]]
    bars = [line for line in said if line.startswith("host-")]
    assert [bar.split()[0] for bar in bars] == ["host-1", "host-2"]
    assert all(set("#+=.") < set(bar) and bar.endswith("119.70 GiB") for bar in bars)
    assert any("blocks of 2,096 tokens" in line for line in said)
    assert any("a request of 262,144 tokens needs 3.09 GiB" in line for line in said)


def test_the_whole_answer_is_a_table_bars_and_where_the_figures_come_from(
    stack_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "pair", "--offline"]) == 0
    assert capsys.readouterr().out == FITS


def test_what_does_not_fit_is_cut_off_at_the_end_of_its_bar(
    stack_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = ["--set", "hosts.1=", "--set", "serve.tensorParallel=1", "--set", "image.vllm="]
    assert main(["plan", "pair", "--offline", *one]) == 3
    said = capsys.readouterr().out.splitlines()
    assert said[4] == (
        "   0  host-1                    0   116.01 GiB       0.81 - 9.46 GiB   -29.71 - -21.06 GiB"
    )
    assert said[7:13] == [
        "host-1  [###############################################+]  119.70 GiB",
        "",
        "KV cache  0 blocks of 2,096 tokens, 0 tokens",
        "          a request of 262,144 tokens needs 6.33 GiB",
        "          0.0 such requests fit at once; the longest that surely fits has",
        "          0 tokens",
    ]
    assert "(taken for the newest: image.vllm is not set)" in said[13]


def test_a_bar_says_how_many_gpus_are_like_it_and_columns_are_as_wide_as_the_longest_name(
    stack_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = ["hosts.0.gpus=2", "hosts.0.memory.unified=false", "hosts.1.name=b"]
    words = [
        word
        for change in (*two, "serve.tensorParallel=1", "serve.pipelineParallel=3")
        for word in ("--set", change)
    ]
    main(["plan", "pair", "--offline", *words])
    bars = [line for line in capsys.readouterr().out.splitlines() if "[#" in line]
    assert [bar.partition("[")[0] for bar in bars] == ["host-1  ", "b       "]
    assert [bar.partition("]")[2] for bar in bars] == [
        "  119.70 GiB on each of 2 GPUs",
        "  119.70 GiB",
    ]


def test_a_stack_is_found_by_its_name(stack_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "pair", "--offline"]) == 0
    assert capsys.readouterr().out.startswith("pair: fits\n")


def test_what_does_not_fit_is_refused_with_the_numbers(
    stack_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = ["--set", "hosts.1=", "--set", "serve.tensorParallel=1"]
    assert main(["plan", "pair", "--offline", *one]) == 3
    said = capsys.readouterr().out
    assert said.startswith("pair: refused\n")
    assert "error: tandem:serve.tensorParallel: host-1, rank 0: 116.01 GiB of weights" in said
    assert said.rstrip().endswith("[weights-do-not-fit]")


def test_a_rule_refuses_as_memory_does(
    stack_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "pair", "--offline", "--set", "serve.tensorParallel=3"]) == 3
    assert capsys.readouterr().out.startswith("pair: refused\n")


def test_json_has_the_same_facts(stack_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "pair", "--offline", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], said["verdict"], said["findings"]) == (True, "fits", [])
    assert [(rank["host"], rank["rank"], rank["stage"]) for rank in said["ranks"]] == [
        ("host-1", 0, 0),
        ("host-2", 1, 0),
    ]
    for rank in said["ranks"]:
        left = rank["requestedBytes"] - rank["weightsBytes"] - rank["reserveBytes"]
        assert rank["kvBudgetBytes"] == left
    assert said["kv"].keys() == {
        "blockSize",
        "numBlocks",
        "tokens",
        "maxConcurrency",
        "neededBytes",
        "largestMaxModelLen",
    }
    assert said["kv"]["blockSize"] == 2096
    assert said["kv"]["numBlocks"] < said["kvMost"]["numBlocks"]


def test_a_value_can_be_tried_without_a_change_to_the_file(
    stack_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stack_file.read_text()
    tried = ["--set", "serve.maxModelLen=32768"]
    assert main(["plan", "pair", "--offline", "--json", *tried]) == 0
    assert json.loads(capsys.readouterr().out)["kv"]["largestMaxModelLen"] == 262144
    assert stack_file.read_text() == before


def test_without_config_json_memory_is_not_weighed_and_said_so(
    stack_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "pair", "--offline", "--set", "model.config="]) == 0
    said = capsys.readouterr().out
    assert said.startswith("pair: unknown\n")
    assert "Memory is not weighed: the model's config.json is not known" in said


def test_what_the_hub_says_of_the_model_counts_when_it_is_asked(
    stack_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, str | None, str | None]] = []

    def hub_model(model: str, revision: str | None, endpoint: str | None) -> ModelFacts:
        asked.append((model, revision, endpoint))
        return ModelFacts(config=config("Qwen3-8B"), weights_bytes=15 * GIB)

    monkeypatch.setattr(plan, "hub_model", hub_model)
    without = [
        "--set",
        "model.config=",
        "--set",
        "model.weights=",
        "--set",
        "serve.maxModelLen=999",
    ]
    assert main(["plan", "pair", "--offline", "--hub", *without]) == 0
    assert "weights   15.00 GiB, safetensors headers" in capsys.readouterr().out
    assert asked == [("org/model", None, None)]


def test_a_revision_that_moves_is_told_with_its_commit_before_any_download(
    stack_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commit, known = "c" * 40, ModelFacts(config=config("Qwen3-8B"), weights_bytes=15 * GIB)
    found = HubFacts(endpoint="https://hub.example", commit=commit)
    monkeypatch.setattr(plan, "hub_model", lambda *_: known)
    monkeypatch.setattr(plan, "hub_facts", lambda _: found)
    source = "model.source={hub: true, endpoint: https://hub.example}"
    words = ["plan", "pair", "--offline", "--set", source, "--set", "model.revision=main"]
    assert main([*words, "--hub"]) == 3
    assert f"write {commit}, what it is now" in " ".join(capsys.readouterr().out.split())
    assert main(words) == 3
    assert "write the commit, 40 hex digits" in " ".join(capsys.readouterr().out.split())


def test_a_hub_that_does_not_tell_ends_it_in_one_line(
    stack_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hub_model(model: str, revision: str | None, endpoint: str | None) -> ModelFacts:
        raise HubFailed(f"the Hub does not tell of {model}")

    monkeypatch.setattr(plan, "hub_model", hub_model)
    assert main(["plan", "pair", "--offline", "--hub"]) == 1
    assert capsys.readouterr().err == "the Hub does not tell of org/model\n"


BAD = {
    "no such stack": (["nobody"], "known here: pair [no-stack-file]"),
    "no such key": (["pair", "--set", "serve.maxLen=1"], 'did you mean "maxModelLen"?'),
    "no value": (["pair", "--set", "serve.maxModelLen"], "is no KEY=VALUE"),
    "a place that is none": (["pair", "--set", "hosts.7.gpus=1"], "hosts.7.gpus can't be set"),
    "no such config.json": (["pair", "--set", "model.config=gone.json"], "gone.json: No such file"),
    "a config.json that is none": (["pair", "--set", "model.config=Pulumi.pair.yaml"], "Expecting"),
}


@pytest.mark.parametrize(("words", "said"), BAD.values(), ids=BAD)
def test_bad_input_is_told_in_one_line(
    stack_file: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["plan", *words, "--offline"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert len(printed.err.splitlines()) == 1


@pytest.mark.parametrize("text", ["a: [", "config: []", "- 1", ""])
def test_a_file_that_is_no_stack_file_is_told_in_one_line(
    stack_file: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    stack_file.write_text(text)
    assert main(["plan", "pair", "--offline"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
