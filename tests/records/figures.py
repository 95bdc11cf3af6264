"""The figures of the memory model for each config.json of tests/cases in many deployments.

No line is known to be right: it is what the planner says now. GPUs, versions, layouts and flags are
dealt out so that each meets each model and most of the others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tandem.planner.layout import layout
from tandem.planner.memory.fit import fit
from tandem.planner.memory.hosts import HostMemory
from tandem.units import GIB
from tests import builders
from tests.case_files import FOLDER
from tests.models import architecture

if TYPE_CHECKING:
    from tandem.planner.memory.result import Fit, RankFit

FIGURES = FOLDER / "configs" / "figures"
ROWS = 15
"""Deployments of each model."""


class Layout(NamedTuple):
    """How many hosts there are, GPUs on each, and how the model is split."""

    hosts: int
    gpus: int
    tensor: int
    pipeline: int


def memory(size: float, device: str | None, free: float | None = None) -> HostMemory:
    """Return the memory of a GPU in GiB."""
    left = round(free * GIB) if free else None
    is_unified = device == "NVIDIA GB10"
    return HostMemory(total=round(size * GIB), free=left, unified=is_unified, device=device)


GPUS = (
    memory(79.1, "NVIDIA H100 80GB HBM3", 78),
    memory(119.7, "NVIDIA GB10", 110),
    memory(23.7, "NVIDIA GeForce RTX 3090", 23.4),
    memory(178, "NVIDIA B200", 176),
    memory(79.3, "NVIDIA A100-SXM4-80GB"),
    memory(64, "cpu", 60),
    memory(140, "NVIDIA H200", 90),
    memory(31.4, "NVIDIA GeForce RTX 5090", 30),
    memory(160, None),
    memory(70, "AMD Radeon PRO"),
    memory(268, "NVIDIA B300"),
)
LAYOUTS = (
    Layout(1, 1, 1, 1),
    Layout(1, 4, 4, 1),
    Layout(2, 1, 2, 1),
    Layout(2, 4, 4, 2),
    Layout(1, 8, 8, 1),
    Layout(3, 1, 1, 3),
    Layout(2, 1, 1, 2),
)
VERSIONS = (
    *("0.32", None, "0.10", "0.19.1", "0.13", "0.14", "0.15"),
    *("0.20", "0.21", "0.25", "0.26", "0.27", "0.28", "0.29"),
)
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"maxModelLen": 8192, "maxNumSeqs": 16},
    {"args": ["--enforce-eager", "--block-size", "32"]},
    {"gpuMemoryUtilization": 0.8, "kvCacheDtype": "fp8"},
    {"args": ["--speculative-config", '{"method": "mtp", "num_speculative_tokens": 2}']},
    {"kvCacheMemory": "4GiB", "maxModelLen": 32768},
    {"args": ["--enable-expert-parallel", "--enable-prefix-caching"]},
    {"args": ["--no-enable-chunked-prefill"], "maxNumBatchedTokens": 4096, "maxModelLen": 4096},
    {"args": ["--speculative-config", '{"method": "ngram", "num_speculative_tokens": 4}']},
    {"args": ["--disable-hybrid-kv-cache-manager", "--load-format", "fastsafetensors"]},
    {"args": ["--language-model-only", "--no-async-scheduling"], "maxModelLen": 100},
    {"args": ["--mm-encoder-tp-mode", "data", "--mamba-ssm-cache-dtype", "float32"]},
    {"args": ["-dcp", "2", "--no-enable-prefix-caching"], "maxModelLen": 65536},
    {"args": ["--dtype", "float32"], "gpuMemoryUtilization": 0.5, "maxNumSeqs": 3},
    {"args": ["--load-format", "runai_streamer", "--limit-mm-per-prompt", '{"image": 0}']},
    {"args": ["--speculative-config.method", "eagle3"], "maxModelLen": 2048},
)


def figures(model: str, offset: int) -> str:
    """Return a model's deployments, each with its figures on the lines below it."""
    rows = (_deployment(model, offset + row) for row in range(ROWS))
    return "\n".join(rows) + "\n"


def _deployment(model: str, number: int) -> str:
    gpu, version = GPUS[number % len(GPUS)], VERSIONS[number % len(VERSIONS)]
    shape, options = LAYOUTS[number % len(LAYOUTS)], OPTIONS[number % len(OPTIONS)]
    declared = builders.config(shape.hosts)
    for host in declared["hosts"]:
        host["gpus"] = shape.gpus
    declared["serve"] = {"tensorParallel": shape.tensor, "pipelineParallel": shape.pipeline}
    declared["serve"] |= options
    if version:
        declared["image"]["vllm"] = version
    settings = builders.load(declared)
    hosts = {host.name: gpu for host in settings.hosts}
    made = fit(settings, layout(settings), architecture(model), None, hosts)
    title = f"{gpu.device} {gpu.total / GIB:g} GiB, {shape}, vLLM {version}, {options}"
    findings = [f"{finding.severity} {finding}" for finding in made.findings]
    lines = [str(made.verdict), *findings, *_figures(made)]
    return "\n  ".join([title, *lines])


def _figures(made: Fit) -> list[str]:
    lines = [_rank(rank) for rank in {rank.stage: rank for rank in made.ranks}.values()]
    for kv in (made.kv, made.kv_most):
        if kv is not None:
            lines.append(str(kv))
    options = made.options
    steps = (options.max_num_seqs, options.max_num_batched_tokens, options.in_flight_tokens)
    lines.append(f"steps {steps}, least utilization {made.smallest_utilization}")
    return [*lines, f"not modelled: {made.not_modelled}"]


def _rank(rank: RankFit) -> str:
    held = rank.reserve
    sizes = (rank.weights_bytes, held.low, held.high, held.before, rank.requested_bytes)
    kv = (rank.kv_budget_low, rank.kv_budget_high, rank.kv_needed_bytes, rank.kv_required_bytes)
    parts = {part.name: (part.low, part.high) for part in (*held.parts, *held.outside)}
    return f"stage {rank.stage}: {sizes}, KV {kv}, {parts}"


MODELS = sorted(path.stem for path in (FOLDER / "configs").glob("*.json"))
RECORDS = {
    FIGURES / f"{model}.txt": partial(figures, model, ROWS * at) for at, model in enumerate(MODELS)
}
"""What makes each file of the folder."""
