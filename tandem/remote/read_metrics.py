"""Read how busy a vLLM server is, from its /metrics.

Runs inside the server's container: ``python3 -c PROGRAM URL [SECONDS]``. With seconds it reads a
second time after them, so that tokens per second can be told. Prints one JSON object with
``problem`` (what is wrong with /health, or null) and ``samples``. Standard library only.
"""

from __future__ import annotations

import json
import math
import sys
import time
import urllib.error
import urllib.request
from typing import Any

TIMEOUT_SECONDS = 2

NAMES = {
    "running": ("vllm:num_requests_running",),
    "waiting": ("vllm:num_requests_waiting",),
    "kv_cache": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    "prompt_tokens": ("vllm:prompt_tokens_total",),
    "generation_tokens": ("vllm:generation_tokens_total",),
}
"""What is read, the newest name first (vllm/v1/metrics/loggers.py, 0.32; older: 0.8)."""


def read(url: str, seconds: float = 0) -> dict[str, Any]:
    """Return whether the server at ``url`` is healthy, and one sample or two of its numbers."""
    try:
        _get(f"{url}/health")
    except urllib.error.HTTPError as refusal:
        return {"problem": f"/health: {refusal}", "samples": []}
    except OSError as problem:
        return {"problem": f"/health: {getattr(problem, 'reason', problem)}", "samples": []}
    samples = []
    try:
        samples.append(sample(_get(f"{url}/metrics")))
        if seconds:
            time.sleep(seconds)
            samples.append(sample(_get(f"{url}/metrics")))
    except OSError:
        pass  # a server may be started without metrics, and serves all the same
    return {"problem": None, "samples": samples}


def sample(text: str) -> dict[str, float | None]:
    """Return the numbers in a text of Prometheus' format; None for one that is not there.

    Engines are added up; of the KV cache it is the share in use (0 to 1) of the fullest. ``at`` is
    the host's monotonic clock in seconds.
    """
    found: dict[str, list[float]] = {}
    for line in text.splitlines():
        name = line.partition("{")[0].partition(" ")[0]
        if name.startswith("vllm:"):
            value = float(line[line.rfind("}") + 1 :].replace(name, "").split()[0])
            if math.isfinite(value):
                found.setdefault(name, []).append(value)
    numbers: dict[str, float | None] = {"at": time.monotonic()}
    for what, names in NAMES.items():
        values = next((found[name] for name in names if name in found), None)
        together = max if what == "kv_cache" else sum
        numbers[what] = together(values) if values else None
    return numbers


def _get(url: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=TIMEOUT_SECONDS) as answer:
        text: str = answer.read().decode(errors="replace")
    return text


def main(url: str, seconds: str = "0") -> None:
    """Read and print what was read."""
    print(json.dumps(read(url, float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
