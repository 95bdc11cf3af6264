"""Whatever is declared and whatever a config.json holds, there is an answer and no traceback."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tandem.errors import UnreadableConfig
from tandem.findings import Severity
from tandem.planner.layout import layout
from tandem.planner.memory.fit import fit
from tandem.planner.memory.hosts import HostMemory, Measured
from tandem.planner.memory.result import Fit, Verdict
from tandem.planner.memory.weights import declared_weights
from tandem.planner.model.architecture import read_architecture
from tandem.settings import Settings
from tandem.units import GIB
from tests.builders import settings
from tests.models import CONFIGS, config

NAMES = sorted(path.stem for path in CONFIGS.glob("*.json"))
ODD_VALUES: list[Any] = [None, 0, 1, 3, -1, 2**31, 1.5, True, "", "fp8", [], [0], {}, {"a": 1}]

CHOICES: dict[str, list[Any]] = {
    "image.vllm": ["0.1", "0.11.2", "0.19.1", "0.21", "0.26.0", "0.32.0", "1.0rc1"],
    "planner": ["enforce", "warn"],
    "serve.tensorParallel": [1, 2, 3, 7, 8, 64, 1000],
    "serve.pipelineParallel": [1, 2, 3, 5, 100],
    "serve.maxModelLen": [1, 7, 4096, 131_072, 10**7],
    "serve.maxNumSeqs": [1, 2, 256, 10**6],
    "serve.maxNumBatchedTokens": [1, 64, 8192, 10**6],
    "serve.gpuMemoryUtilization": [0.001, 0.5, 0.9, 1.0],
    "serve.kvCacheDtype": ["auto", "fp8", "fp8_ds_mla", "nonsense", ""],
    "serve.kvCacheMemory": ["1MiB", "8GiB", "900TB"],
    "serve.env": [{}, {"VLLM_PP_LAYER_PARTITION": "1,2"}, {"VLLM_CPU_KVCACHE_SPACE": "x"}],
}
WORDS = [
    "--enforce-eager",
    "--enable-prefix-caching",
    "--no-enable-prefix-caching",
    "--no-enable-chunked-prefill",
    "--enable-expert-parallel",
    "--language-model-only",
    "--mm-encoder-tp-mode=data",
    "--disable-hybrid-kv-cache-manager",
    "--cpu-offload-gb=4",
    "--quantization",
    "--block-size",
    "0",
    "17",
    "-dcp",
    "999999",
    "--load-format",
    "fastsafetensors",
    "--mamba-ssm-cache-dtype=float32",
    "--dtype=float32",
    '--speculative-config={"method":"mtp","num_speculative_tokens":3}',
    '--speculative-config={"method":["mtp"]}',
    "--speculative-config={",
    "--speculative-config.method",
    "",
    "-",
    "--",
    "=",
    "-1",
]


def mangled(data: Any, chance: random.Random) -> Any:
    """Return JSON with values lost, swapped for odd ones, or left alone."""
    if isinstance(data, dict):
        return {
            key: chance.choice(ODD_VALUES) if chance.random() < 0.02 else mangled(value, chance)
            for key, value in data.items()
            if chance.random() > 0.005
        }
    return data


def shuffled(data: Any, chance: random.Random) -> Any:
    """Return the same JSON with the keys of every object in another order."""
    if not isinstance(data, dict):
        return data
    keys = list(data)
    chance.shuffle(keys)
    return {key: shuffled(data[key], chance) for key in keys}


def any_settings(chance: random.Random) -> Settings:
    """Return settings that the models accept."""
    hosts = chance.choice([1, 1, 2, 3])
    changes = {
        key: chance.choice(values) for key, values in CHOICES.items() if chance.random() < 0.5
    }
    changes["serve.args"] = chance.choices(WORDS, k=chance.randrange(5))
    for index in range(hosts):
        changes[f"hosts.{index}.gpus"] = chance.choice([1, 2, 8])
    return settings(hosts, changes)


def any_memory(declared: Settings, chance: random.Random) -> dict[str, HostMemory]:
    """Return the memory of most hosts, of any size."""
    return {
        host.name: HostMemory(
            total=chance.choice([1, GIB, 24 * GIB, 80 * GIB, 192 * GIB]),
            free=chance.choice([None, 0, 20 * GIB, 200 * GIB]),
            unified=chance.random() < 0.3,
            device=chance.choice([None, "", "cpu", "NVIDIA GB10", "NVIDIA A100-SXM4-80GB"]),
        )
        for host in declared.hosts
        if chance.random() < 0.95
    }


def any_measured(chance: random.Random) -> Measured | None:
    """Return what a start may have logged, or nothing."""
    sizes: list[int | None] = [None, 0, -GIB, 12 * GIB, 10**15]
    if chance.random() < 0.7:
        return None
    return Measured(
        origin="a start",
        weights_bytes=chance.choice(sizes),
        non_kv_bytes=chance.choice(sizes),
        kv_budget_bytes=chance.choice(sizes),
    )


def answer(data: dict[str, Any], chance: random.Random) -> Fit | str:
    """Return the fit of any deployment, or why the config can't be read."""
    declared = any_settings(chance)
    memory, measured = any_memory(declared, chance), any_measured(chance)
    counted = declared_weights(30 * GIB, "declared") if chance.random() < 0.3 else None
    try:
        model = read_architecture(data)
    except UnreadableConfig as unreadable:
        return str(unreadable)
    return fit(declared, layout(declared), model, counted, memory, measured)


@pytest.mark.parametrize("name", NAMES)
def test_every_deployment_gets_an_answer(name: str) -> None:
    chance = random.Random(name)
    answers = [answer(mangled(config(name), chance), chance) for _ in range(40)]
    assert all(answers)
    fits = [found for found in answers if isinstance(found, Fit)]
    assert fits
    for found in fits:
        tells_why(found)


def tells_why(found: Fit) -> None:
    """Check that a verdict and the findings with it say the same."""
    errors = [finding for finding in found.findings if finding.severity is Severity.ERROR]
    if found.verdict is Verdict.REFUSED:
        assert found.findings
    else:
        assert not errors
    if found.verdict is Verdict.TIGHT:
        assert found.findings
    assert (found.not_modelled is not None) == any(
        finding.code == "not-modelled" for finding in found.findings
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_keys_changes_nothing(name: str) -> None:
    chance = random.Random(name)
    for _ in range(5):
        data = mangled(config(name), chance)
        seed = chance.random()
        other = shuffled(data, chance)
        assert json.dumps(data, sort_keys=True) == json.dumps(other, sort_keys=True)
        assert answer(data, random.Random(seed)) == answer(other, random.Random(seed))


@pytest.mark.parametrize("data", [{}, {"text_config": {}}, {"num_hidden_layers": True}])
def test_a_config_that_says_nothing_is_unreadable(data: dict[str, Any]) -> None:
    with pytest.raises(UnreadableConfig):
        read_architecture(data)
