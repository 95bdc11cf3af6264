"""Run by the rivals' own Python: answer questions on stdin with vramscout, without the network.

It reads config.json and the size of the checkpoint from the Hub; both come from the question.
Its best options: the engine vllm, TP, utilization, the KV type, and the step as prefill chunk.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
from vramscout import modern_core
from vramscout.modern_v07 import plan_modern

HELD = ("Model weights / rank", "CUDA / runtime", "Prefill scratch", "Safety reserve")
"""Parts of a plan that are not KV cache or state."""


def main() -> None:
    """Answer a list of questions."""
    with tempfile.TemporaryDirectory() as folder:
        answers = [answer(question, Path(folder)) for question in json.load(sys.stdin)]
    json.dump(answers, sys.stdout)


def answer(question: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the figures of one plan; an error of the tool in its own words."""
    config = folder / "config.json"
    config.write_text(json.dumps(question["config"]))
    size = question["weights_bytes"] or 1
    file = SimpleNamespace(rfilename="model.safetensors", size=size)
    info = SimpleNamespace(safetensors=SimpleNamespace(total=size), siblings=[file])
    setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: info)  # noqa: B010 - a method
    modern_core.hf_hub_download = lambda **_: str(config)

    def plan(length: int) -> Any:
        return plan_modern(
            f"org/{question['name']}",
            context=length,
            kv_dtype=question["kv_type"],
            tp=question["tensor_parallel"],
            vram_gib=question["total_gib"],
            prefill_chunk=question["step_tokens"],
            engine="vllm",
            gpu_memory_utilization=question["utilization"],
        )

    try:
        found = plan(question["length"])
    except (ValueError, RuntimeError) as problem:
        return {"error": str(problem)}
    held = sum(found.parts_gib[name] for name in HELD)
    need = state(found)
    return {
        "verdict": "fits" if found.fits else "refused",
        "weights": found.parts_gib[HELD[0]],
        "need": need,
        "capacity": capacity(question, need, plan),
        "budget": found.memory_budget_gib - held,
    }


def state(found: Any) -> float:
    """Return the GiB of KV cache and state."""
    return float(sum(size for name, size in found.parts_gib.items() if name not in HELD))


def capacity(question: dict[str, Any], need: float, plan: Any) -> float | None:
    """Return what the logged KV cache holds, in tokens."""
    budget, length = question["budget_gib"], question["length"]
    if budget is None:
        return None
    if not question["asks_longest"]:
        return float(budget / need * length)
    low, high = 0, int(length)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if state(plan(middle)) <= budget else (low, middle - 1)
    return low


if __name__ == "__main__":
    main()
