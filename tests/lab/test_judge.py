"""The judge: the KV cache that vLLM makes, beside the one that was planned for it.

Tiny models of every kind of attention that vLLM 0.32 runs on CPUs: its engine starts in a
container on a lab host with the plan's own arguments. What decides the block size of gated delta
nets and of MLA differs between CPUs, so the models and arguments here name it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, model
from lab.image.recipe import TAG
from tandem.gates.start_log import read_start_log
from tandem.planner.arguments import serve_arguments
from tandem.planner.layout import layout
from tandem.planner.memory.fit import CPU_BUDGET, fit
from tandem.planner.memory.hosts import HostMemory
from tandem.planner.memory.result import KvFit
from tandem.planner.model.architecture import read_architecture
from tandem.settings import Settings
from tandem.units import GIB
from tests import builders

PROGRAM = Path(__file__).parent / "inside" / "start_engines.py"
FOLDER = "/srv/judge"
LONGEST_SECONDS = 900


@dataclass(frozen=True)
class Case:
    """One start."""

    family: str
    max_model_len: int
    changes: dict[str, Any] = field(default_factory=dict)
    """What differs from one rank and vLLM's defaults, by key of the stack file."""

    @property
    def settings(self) -> Settings:
        """Return the settings of a stack file that says so."""
        serve = {f"serve.{key}": value for key, value in self.changes.items() if key != "args"}
        ranks = self.changes.get("tensorParallel", 1) * self.changes.get("pipelineParallel", 1)
        return builders.settings(
            1,
            {
                "hosts.0.gpus": ranks,
                "image.vllm": TAG,
                "serve.maxModelLen": self.max_model_len,
                "serve.env": {CPU_BUDGET: "1"},
                "serve.args": ["--enforce-eager", *self.changes.get("args", [])],
                **serve,
            },
        )


TWO_RANKS = {"tensorParallel": 2}
LARGE_STATE = {"args": ["--mamba-ssm-cache-dtype", "float32"]}
MLA = {"args": ["--attention-backend", "CPU_MLA"]}
CASES = {
    "dense": Case("qwen3", 1000),
    "dense, two ranks": Case("qwen3", 1000, TWO_RANKS),
    "dense, FP8 cache": Case(
        "qwen3", 4096, {"kvCacheDtype": "fp8", "args": ["--block-size", "64"]}
    ),
    "experts": Case("qwen3_moe", 2500),
    "experts, two ranks": Case("qwen3_moe", 2500, TWO_RANKS),
    "windows in half of the layers": Case("gpt_oss", 4000, {"maxNumBatchedTokens": 512}),
    "windows in half of the layers, two ranks": Case("gpt_oss", 4000, TWO_RANKS),
    "windows in five of six layers": Case("gemma3", 8192),
    "windows in five of six layers, two ranks": Case("gemma3", 8192, TWO_RANKS),
    "windows in five of six layers, two stages": Case("gemma3", 8192, {"pipelineParallel": 2}),
    "windows without the hybrid manager": Case(
        "gemma3", 8192, {"args": ["--disable-hybrid-kv-cache-manager"]}
    ),
    "latent attention": Case("deepseek_v2", 3000, MLA),
    "latent attention, two ranks": Case("deepseek_v2", 3000, MLA | TWO_RANKS),
    "delta nets": Case("qwen3_next", 2000, LARGE_STATE),
    "delta nets, two ranks": Case("qwen3_next", 2000, LARGE_STATE | TWO_RANKS),
    "delta nets without prefix caching": Case(
        "qwen3_next",
        2000,
        {"args": ["--mamba-ssm-cache-dtype", "bfloat16", "--no-enable-prefix-caching"]},
    ),
}


@pytest.fixture(scope="module")
def models(hosts: Lab) -> dict[str, str]:
    """Return where the first host has the model of each family."""
    families = {case.family for case in CASES.values()}
    return {family: model.put_on(hosts.hosts[0], family) for family in families}


@pytest.fixture(scope="module")
def starts(hosts: Lab, models: dict[str, str]) -> Iterator[dict[str, dict[str, Any]]]:
    """Return what each start came to."""
    host = hosts.hosts[0]
    host.put(PROGRAM, FOLDER)
    host.ssh("docker rm --force judge")
    options = f"--rm --interactive --name judge --shm-size 2g --env {CPU_BUDGET}=1"
    options += f" --volume {model.FOLDER_ON_HOSTS}:{model.FOLDER_ON_HOSTS}:ro"
    options += f" --volume {FOLDER}:{FOLDER}:ro --entrypoint python3"
    # vLLM's engine is in the process that starts it, and ranks share the cores as they like.
    options += " --env VLLM_ENABLE_V1_MULTIPROCESSING=0 --env VLLM_CPU_OMP_THREADS_BIND=nobind"
    commands = [
        [models[case.family], *serve_arguments(case.settings)[1:]] for case in CASES.values()
    ]
    try:
        done = host.ssh(
            f"docker run {options} {hosts.image} {FOLDER}/{PROGRAM.name}",
            stdin=json.dumps(commands),
            timeout=LONGEST_SECONDS,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        found = [json.loads(line) for line in done.stdout.splitlines()]
        yield dict(zip(CASES, found, strict=True))
    finally:
        host.ssh("docker rm --force judge")


@pytest.mark.parametrize("name", CASES)
def test_the_kv_cache_is_the_planned_one(
    name: str, hosts: Lab, models: dict[str, str], starts: dict[str, dict[str, Any]]
) -> None:
    started = starts[name]
    assert "numBlocks" in started, started["log"][-4000:]
    logged = read_start_log(started["log"])
    assert logged["kvSetBytes"] == GIB
    case = CASES[name]
    config = hosts.hosts[0].ssh(f"cat {models[case.family]}/config.json").stdout
    planned = plan(case.settings, json.loads(config))
    assert (planned.block_size, planned.num_blocks, planned.tokens) == (
        started["blockSize"],
        started["numBlocks"],
        logged["kvTokens"],
    )
    assert f"{planned.max_concurrency:.2f}" == f"{logged['maxConcurrency']:.2f}"


def plan(settings: Settings, config: dict[str, Any]) -> KvFit:
    """Return the KV cache that is planned on a host without GPUs."""
    memory = {settings.head.name: HostMemory(total=16 * GIB, device="cpu")}
    planned = fit(settings, layout(settings), read_architecture(config), None, memory).kv
    assert planned is not None
    return planned
