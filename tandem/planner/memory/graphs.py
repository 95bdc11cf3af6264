"""CUDA graphs: for how many batch sizes they are captured, and the memory that they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.vllm.versions import LARGER_GRAPHS
from tandem.units import MIB

if TYPE_CHECKING:
    from tandem.planner.memory.hosts import HostMemory
    from tandem.planner.vllm.engine import EngineOptions

BYTES_A_LAYER = (7 * MIB, 85 * MIB)
"""Least and most; the most was logged with all sizes up to ``LARGEST`` captured."""

LARGEST = 512
LARGEST_ON_BLACKWELL = 1024
"""Largest batch that a graph is captured for by default."""

_BLACKWELL = ("b200", "b300")


def graphs(layers: int, options: EngineOptions, memory: HostMemory) -> tuple[float, float, str]:
    """Return the least and the most bytes of a rank's graphs, and where they come from.

    From 0.45 GiB for 64 layers (vllm#46778) to 5.1 for 62 (eugr#396). The most goes with the
    number of sizes, as each graph takes memory of its own (measured on H200).
    """
    # On unified memory the estimate may even come out negative (eugr PR#200).
    low = 0 if memory.unified else layers * BYTES_A_LAYER[0]
    sizes, of = captured_sizes(options, memory), _sizes_up_to(LARGEST)
    high = max(low, layers * BYTES_A_LAYER[1] * sizes / of)
    return low, high, f"vllm#46778: 7 MiB a layer; eugr#396: 85 with {of} batch sizes, here {sizes}"


def captured_sizes(options: EngineOptions, memory: HostMemory) -> int:
    """Return for how many batch sizes graphs are captured (``_set_cudagraph_sizes``).

    vllm/config/vllm.py, 0.11.2 to 0.32.0: up to twice the tokens of max_num_seqs requests.
    """
    is_blackwell = any(name in (memory.device or "").lower() for name in _BLACKWELL)
    is_larger = is_blackwell and options.version >= LARGER_GRAPHS
    largest = LARGEST_ON_BLACKWELL if is_larger else LARGEST
    return _sizes_up_to(min(2 * options.max_num_seqs * (1 + options.draft_tokens), largest))


def _sizes_up_to(tokens: int) -> int:
    small = sum(size <= tokens for size in (1, 2, 4))
    return small + len(range(8, min(tokens + 1, 256), 8)) + len(range(256, tokens + 1, 16))
