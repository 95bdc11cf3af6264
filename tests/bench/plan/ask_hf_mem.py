"""Run by the rivals' own Python: answer questions on stdin with hf-mem, without the network.

It asks the Hub over HTTP; the answers come from the question. It knows no GPU and no tensor
parallelism: its sizes are divided by the ranks here, and verdict and budget stay open.
"""

from __future__ import annotations

import json
import struct
import sys
import warnings
from typing import Any

import httpx2
from hf_mem import run

warnings.simplefilter("ignore")
Client = httpx2.AsyncClient
KV_TYPES = {"bf16": "bfloat16", "fp8": "fp8"}


def main() -> None:
    """Answer a list of questions."""
    json.dump([answer(question) for question in json.load(sys.stdin)], sys.stdout)


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of one model; an error of the tool in its own words."""
    size, length = question["weights_bytes"], question["length"]
    header = {"weights": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}
    text = json.dumps(header).encode()
    files = [{"type": "file", "path": path} for path in ("config.json", "model.safetensors")]

    def reply(request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if path.endswith("config.json"):
            return httpx2.Response(200, json=question["config"])
        if path.endswith("model.safetensors"):
            return httpx2.Response(200, content=struct.pack("<Q", len(text)) + text)
        return httpx2.Response(200, json=files)

    def client(**options: Any) -> httpx2.AsyncClient:
        return Client(**options, transport=httpx2.MockTransport(reply))

    setattr(httpx2, "AsyncClient", client)  # noqa: B010 - a class, to mypy
    try:
        found = run(
            f"org/{question['name']}",
            experimental=True,
            max_model_len=length,
            kv_cache_dtype=KV_TYPES[question["kv_type"]],
        )
    except (KeyError, RuntimeError) as problem:
        return {"error": f"{type(problem).__name__}: {problem}"}
    ranks = question["tensor_parallel"]
    if found.kv_cache is None:
        return {"weights": found.memory / ranks / 2**30}
    need, budget = found.kv_cache / ranks / 2**30, question["budget_gib"]
    tokens = budget / need * length if budget is not None else None
    if tokens is not None and question["asks_longest"]:
        tokens = min(tokens, length)
    return {"weights": found.memory / ranks / 2**30, "need": need, "capacity": tokens}


if __name__ == "__main__":
    main()
