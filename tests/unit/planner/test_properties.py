"""Whatever the settings accept gives findings, never a traceback, in whatever order it is."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tandem.findings import Finding
from tandem.planner.model.architecture import Architecture, read_architecture
from tandem.planner.rules import check, check_architecture
from tandem.planner.vllm.releases import known_names
from tandem.settings import Settings
from tests.builders import config, load, with_changes

CONFIGS = sorted((Path(__file__).parents[2] / "cases" / "configs").glob("*.json"))

FLAGS = sorted(max(known_names().items())[1].flags)
VALUES = [
    *("", "0", "1", "-1", "2", "64", "9" * 5000, "true", "qwen3_coder", "data", "²", "x" * 300),
    *("{}", "[]", "null", '{"a":', "{'a': 1}", "{{", '{"a": 1k}', "[" * 3000, '{"token": "x"}'),
    f'{{"a": {"9" * 5000} x',
    *("-", "--", "---", "-=", "--=", "--.", "--no-", "--a.b.c=", "-O3", "\n", "\\", "ä☃", "%s {}"),
]
PARTITIONS = ["", ",", "1", "1,1", "24,24", "16,32", "-1,49", "1_0,2", "x", "9" * 5000, "1, 2"]
IMAGES = ["registry.example/vllm:1", "vllm/vllm-openai:v0.19.1", "vllm/vllm-openai:latest", "vllm"]
VERSIONS = ["0.10.2", "0.19.1", "0.25", "0.29.0", "0.33.0", "1.0", "9999.9999.1", "0.0", "00.011"]


def _stack(chance: random.Random) -> dict[str, Any]:
    """Return the values of a stack file that the settings accept, sensible or not."""
    hosts = chance.randint(1, 4)
    words = [*chance.sample(FLAGS, 8), *chance.sample(VALUES, 8)]
    serve: dict[str, Any] = {
        "tensorParallel": chance.choice([1, 2, 3, 4, 7, 8, 16, 10**6]),
        "pipelineParallel": chance.choice([1, 2, 3, 48, 10**6]),
        "args": chance.sample(words, chance.randint(0, 8)),
        "env": {
            chance.choice(["VLLM_PP_LAYER_PARTITION", "A", ""]): chance.choice(PARTITIONS),
            "VLLM_ALLOW_LONG_MAX_MODEL_LEN": chance.choice(["0", "1", "x"]),
        },
    }
    for key in ("maxModelLen", "maxNumSeqs", "maxNumBatchedTokens"):
        if chance.random() < 0.5:
            serve[key] = chance.choice([1, 15, 16, 8192, 131072, 10**15])
    changes: dict[str, Any] = {
        "serve": serve,
        "image.reference": chance.choice(IMAGES),
        "image.entrypoint": chance.choice(["vllm", "image", ["sh", "start"]]),
    }
    if chance.random() < 0.7:
        changes["image.vllm"] = chance.choice(VERSIONS)
    for index in range(hosts):
        changes[f"hosts.{index}.gpus"] = chance.choice([1, 2, 8, ["0", "0"], ["0", "1", "7"]])
        if chance.random() < 0.2:
            partition = {"VLLM_PP_LAYER_PARTITION": chance.choice(PARTITIONS)}
            changes[f"hosts.{index}.env"] = partition
    return with_changes(config(hosts), changes)


def _model(chance: random.Random) -> Architecture:
    """Return a real model with some of its sizes changed to others that are allowed."""
    found: dict[str, Any] = json.loads(chance.choice(CONFIGS).read_text())
    text = found.get("text_config", found)
    sizes = [key for key, value in text.items() if type(value) is int and value > 0]
    for key in chance.sample(sizes, 3):
        if "layers" not in key:
            text[key] = chance.choice([1, 2, 3, 5, 24, 100, 128, 10**6])
    if chance.random() < 0.5:
        found["quantization_config"] = {
            "quant_method": chance.choice(["fp8", "awq", "gptq", "new"]),
            "weight_block_size": chance.choice([None, [128, 128], [1, 7]]),
            "group_size": chance.choice([None, 32, 128]),
            "bits": chance.choice([4, 8]),
        }
    return read_architecture(found)


def _all_findings(settings: Settings, model: Architecture) -> list[Finding]:
    return [*check(settings), *check_architecture(settings, model)]


def _shuffled(value: Any, chance: random.Random) -> Any:
    """Return a value with the keys of every object in another order; lists keep theirs."""
    if isinstance(value, dict):
        keys = chance.sample(list(value), len(value))
        return {key: _shuffled(value[key], chance) for key in keys}
    return [_shuffled(item, chance) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(400))
def test_any_accepted_settings_give_findings(seed: int) -> None:
    chance = random.Random(seed)
    stack, model = _stack(chance), _model(chance)
    findings = _all_findings(load(stack), model)
    for finding in findings:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", finding.code)
        assert finding.path.startswith("tandem:")
        assert finding.message
        assert finding.fix
        assert len(str(finding)) < 1000, "a finding is one line that people read"
    again = _all_findings(load(_shuffled(stack, chance)), model)
    assert sorted(map(str, again)) == sorted(map(str, findings))


def test_random_stacks_reach_most_rules() -> None:
    seen: set[str] = set()
    for seed in range(400):
        chance = random.Random(seed)
        seen |= {f.code for f in _all_findings(load(_stack(chance)), _model(chance))}
    assert {"json-unreadable", "heads-not-divisible", "fp8-block-not-divisible"} <= seen
    assert {"unknown-flag", "partition-differs", "length-above-model", "gpus-too-few"} <= seen
    assert len(seen) >= 25
