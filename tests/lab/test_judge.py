"""The judge: the KV cache that vLLM makes, beside the one that was planned for it.

Tiny models of every kind of attention that vLLM 0.32 runs on CPUs (lab/README.md says which it
does not): its engine starts in a container on a lab host with the plan's own arguments. Two
defaults differ between CPUs, so the arguments name them here: where there are bfloat16
instructions the state of a delta net is float32, and where there is AMX a block of MLA is larger.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, model
from lab.host import Host
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

ROOT = Path(__file__).parents[2]
FOLDER = "/srv/judge"
"""Where the host has what the programs in the container import."""
CONTAINER = "judge"
LONGEST_SECONDS = 900
SPACE_GIB = "1"
SEED, DEPLOYMENTS = 5, 25


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
                "serve.env": {CPU_BUDGET: SPACE_GIB},
                "serve.args": ["--enforce-eager", *self.changes.get("args", [])],
                **serve,
            },
        )


@dataclass(frozen=True)
class Judge:
    """A host on which programs of tests/lab/inside run in the image, one at a time."""

    host: Host
    image: str

    def run(self, program: str, *arguments: str, stdin: str = "") -> str:
        """Return what a program prints."""
        environment = {
            "PYTHONPATH": FOLDER,
            CPU_BUDGET: SPACE_GIB,
            # The engine is in the process that starts it, and ranks share the cores as they like.
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        }
        words = ["docker", "run", "--rm", "--interactive", f"--name={CONTAINER}", "--shm-size=2g"]
        words += [f"--env={name}={value}" for name, value in environment.items()]
        words += [f"--volume={path}:{path}:ro" for path in (FOLDER, model.FOLDER_ON_HOSTS)]
        words += ["--entrypoint=python3", self.image, "-m", f"tests.lab.inside.{program}"]
        self.host.ssh(f"docker rm --force {CONTAINER}")
        command = shlex.join([*words, *arguments])
        done = self.host.ssh(command, stdin=stdin, timeout=LONGEST_SECONDS)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout


TWO_RANKS = {"tensorParallel": 2}
FLOAT32_STATE = {"args": ["--mamba-ssm-cache-dtype", "float32"]}
MLA = {"args": ["--attention-backend", "CPU_MLA"]}
CASES = {
    "dense": Case("qwen3", 1000),
    "dense, two ranks": Case("qwen3", 1000, TWO_RANKS),
    "dense, other blocks": Case("qwen3", 4096, {"args": ["--block-size", "64"]}),
    "experts": Case("qwen3_moe", 2500),
    "experts, two ranks": Case("qwen3_moe", 2500, TWO_RANKS),
    "windows in four of seven layers": Case("gpt_oss", 4000, {"maxNumBatchedTokens": 512}),
    "windows in four of seven layers, two ranks": Case("gpt_oss", 4000, TWO_RANKS),
    "windows in five of six layers": Case("gemma3", 8192),
    "windows in five of six layers, two ranks": Case("gemma3", 8192, TWO_RANKS),
    "windows in five of six layers, two stages": Case("gemma3", 8192, {"pipelineParallel": 2}),
    "windows without the hybrid manager": Case(
        "gemma3", 8192, {"args": ["--disable-hybrid-kv-cache-manager"]}
    ),
    "latent attention": Case("deepseek_v2", 3000, MLA),
    "latent attention, two ranks": Case("deepseek_v2", 3000, MLA | TWO_RANKS),
    "delta nets": Case("qwen3_next", 2000, FLOAT32_STATE),
    "delta nets, two ranks": Case("qwen3_next", 2000, FLOAT32_STATE | TWO_RANKS),
    "delta nets without prefix caching": Case(
        "qwen3_next",
        2000,
        {"args": ["--mamba-ssm-cache-dtype", "bfloat16", "--no-enable-prefix-caching"]},
    ),
}


@pytest.fixture(scope="module")
def judge(hosts: Lab) -> Iterator[Judge]:
    """Return a host that has what its container needs."""
    host = hosts.hosts[0]
    for name in ("tandem", "tests"):
        host.put(ROOT / name, FOLDER)
    yield Judge(host, hosts.image)
    host.ssh(f"docker rm --force {CONTAINER}; rm -r {FOLDER}")


@pytest.fixture(scope="module")
def starts(judge: Judge) -> dict[str, dict[str, Any]]:
    """Return what each start came to."""
    families = sorted({case.family for case in CASES.values()})
    folders = {family: model.put_on(judge.host, family) for family in families}
    commands = [
        [folders[case.family], *serve_arguments(case.settings)[1:]] for case in CASES.values()
    ]
    lines = judge.run("start_engines", stdin=json.dumps(commands)).splitlines()
    return dict(zip(CASES, (json.loads(line) for line in lines), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_the_kv_cache_is_the_planned_one(name: str, starts: dict[str, dict[str, Any]]) -> None:
    started = starts[name]
    assert "numBlocks" in started, started["log"][-4000:]
    logged = read_start_log(started["log"])
    assert logged["kvSetBytes"] == int(SPACE_GIB) * GIB
    case = CASES[name]
    config = (model.folder_of(case.family) / "config.json").read_text()
    planned = plan(case.settings, json.loads(config))
    assert (planned.block_size, planned.num_blocks, planned.tokens) == (
        started["blockSize"],
        started["numBlocks"],
        logged["kvTokens"],
    )
    assert f"{planned.max_concurrency:.2f}" == f"{logged['maxConcurrency']:.2f}"


def test_random_deployments_are_laid_out_and_refused_as_by_vllm(judge: Judge) -> None:
    """All models of tests/cases, those that no CPU runs too: no engine starts here."""
    found = json.loads(judge.run("compare_layouts", str(SEED), str(DEPLOYMENTS)))
    assert min(found["accepted"], found["refused"]) > 100
    assert found["different"] == []


def plan(settings: Settings, config: dict[str, Any]) -> KvFit:
    """Return the KV cache that is planned on a host without GPUs."""
    memory = {settings.first_host.name: HostMemory(total=16 * GIB, device="cpu")}
    planned = fit(settings, layout(settings), read_architecture(config), None, memory).kv
    assert planned is not None
    return planned
