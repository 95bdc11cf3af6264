"""What vLLM's log says of its memory once it has started.

The lines: "Model loading took", "Available KV cache memory" (on CPUs "Explicitly set"), "KV cache
size", "Maximum concurrency" and "Graph capturing finished", in vllm/v1/worker and
vllm/v1/core/kv_cache_utils.py, 0.11.2 to 0.32.0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tandem.gates.containers import LOOK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tandem.gates.spec import Watched

_GIB = 1024**3
_LINES = "Model loading took|KV cache|Maximum concurrency|Graph capturing finished"
_MOST_LINES = 400

# A line of every rank is in the log. The rank with most weights and the one with least room count.
_SIZES: dict[str, tuple[str, Callable[[list[float]], float]]] = {
    "weightsBytes": (r"Model loading took ([\d.]+) GiB", max),
    "kvBudgetBytes": (r"Available KV cache memory: ([\d.]+) GiB", min),
    "kvSetBytes": (r"Explicitly set \(([\d.]+)/[\d.]+\) GiB for KV cache", min),
    "graphsBytes": (r"Graph capturing finished in .* took ([\d.]+) GiB", max),
}
_COUNTS: dict[str, str] = {
    "kvTokens": r"KV cache size: ([\d,]+) tokens",
    "maxConcurrency": r"Maximum concurrency for [\d,]+ tokens per request: ([\d.]+)x",
}


def read_start_log(text: str) -> dict[str, int | float]:
    """Return what the lines say, sizes in bytes for one rank; what was not logged is left out."""
    found: dict[str, int | float] = {}
    for name, (pattern, choose) in _SIZES.items():
        if sizes := [float(size) for size in re.findall(pattern, text)]:
            found[name] = round(choose(sizes) * _GIB)
    for name, pattern in _COUNTS.items():
        if counts := re.findall(pattern, text):
            count = float(counts[-1].replace(",", ""))
            found[name] = int(count) if name == "kvTokens" else count
    return found


def start_log(server: Watched) -> dict[str, int | float]:
    """Return what the log of a running server says of its start."""
    lines = f"docker logs {server.container} 2>&1 | grep -E '{_LINES}' | tail -n {_MOST_LINES}"
    return read_start_log(server.target.run("sh", "-c", lines, timeout=LOOK_SECONDS).stdout)
