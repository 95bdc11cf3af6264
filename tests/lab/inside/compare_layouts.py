"""Compares planned KV caches with vLLM's own on random deployments. Runs in the image.

Arguments: a seed, and how many deployments of each model. Standard output: one JSON object with
the number of those that vLLM accepts and refuses, and the deployments where the answers differ.
"""

import json
import random
import sys
from collections.abc import Sequence
from typing import Any

from tandem.planner.memory.hosts import HostMemory
from tandem.planner.memory.kv_cache import KvCache
from tandem.planner.memory.stages import stage_layers
from tandem.planner.model.architecture import Architecture
from tandem.planner.vllm.engine import engine_options
from tandem.units import GIB
from tests.builders import settings
from tests.lab.inside.vllm_layout import vllm_answer
from tests.models import CONFIGS, architecture

HOST = HostMemory(total=80 * GIB)
BUDGETS = (0.05, 0.3, 1, 4, 20)
"""In GiB: with these about half of the deployments are refused."""
ENOUGH = 1 << 60
DRAFTS = '--speculative-config={"method": "mtp", "num_speculative_tokens": 2}'


def compare(seed: int, count: int) -> dict[str, Any]:
    """Return how the comparison came out."""
    chance = random.Random(seed)
    answers = {False: 0, True: 0}
    different = []
    for name in sorted(path.stem for path in CONFIGS.glob("*.json")):
        model = architecture(name)
        for _ in range(0 if model.not_modelled else count):
            changes = random_changes(chance, model)
            options = engine_options(settings(1, changes), model, [HOST])
            stages = stage_layers(len(model.layers), options.pipeline_parallel)
            budgets = [int(chance.choice(BUDGETS) * chance.uniform(0.8, 1.2) * GIB) for _ in stages]
            kv = KvCache(model, options, stages)
            real = vllm_answer(model, options, kv.layout, stages, budgets)
            planned = planned_answer(kv, budgets, options.max_model_len or 0)
            answers[real["refused"]] += 1
            if not real.items() <= planned.items():
                different.append([name, changes, budgets, {"vllm": real, "planned": planned}])
    return {"accepted": answers[False], "refused": answers[True], "different": different}


def random_changes(chance: random.Random, model: Architecture) -> dict[str, Any]:
    """Return a random deployment of a model by key of the stack file."""
    ranks, stages = chance.choice([1, 2, 4]), chance.choice([1, 1, 2, 3])
    args = chance.choice([[], ["--enable-prefix-caching"], ["--no-enable-prefix-caching"]])
    if not model.is_hybrid and chance.random() < 0.2:
        args = [*args, "--disable-hybrid-kv-cache-manager"]
    if model.mtp_layers and chance.random() < 0.2:
        args = [*args, DRAFTS]
    if chance.random() < 0.2:
        args = [*args, "--block-size", "32"]
    return {
        "image.vllm": "0.32.0",
        "hosts.0.gpus": ranks * stages,
        "serve.tensorParallel": ranks,
        "serve.pipelineParallel": stages,
        "serve.maxModelLen": chance.choice([512, 5000, 40_000, 131_072]),
        "serve.maxNumBatchedTokens": chance.choice([2048, 8192]),
        "serve.kvCacheDtype": chance.choice(["auto", "fp8"]),
        "serve.args": args,
    }


def planned_answer(kv: KvCache, budgets: Sequence[int], length: int) -> dict[str, Any]:
    """Return blocks, tokens and concurrency, or what a refusal says: of the first stage alone."""
    for stage, budget in enumerate(budgets):
        if kv.required_budget(stage, length) > budget:
            others = [budget if place == stage else ENOUGH for place in range(len(budgets))]
            return {
                "refused": True,
                "neededGib": round(kv.needed_bytes(stage, length) / GIB, 2),
                "largestMaxModelLen": kv.largest_length(others, length),
            }
    blocks = kv.num_blocks(budgets)
    return {
        "refused": False,
        "numBlocks": blocks,
        "tokens": kv.tokens(blocks, length),
        "maxConcurrency": round(kv.concurrency(blocks, length), 6),
    }


if __name__ == "__main__":
    print(json.dumps(compare(int(sys.argv[1]), int(sys.argv[2]))))
