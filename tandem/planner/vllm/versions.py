"""From which version vLLM counts memory in which way.

What was read in its source: 0.11.2, 0.19.1 and 0.32.0. A change between two of them is dated by
a log that shows it; where there is none, by the later source.
"""

from __future__ import annotations

import re

Version = tuple[int, int]
"""Major and minor number."""

NEWEST: Version = (0, 32)
"""The newest version whose source was read; taken when the stack file names none."""

HYBRID_NEEDS_SHARED_GROUPS: Version = (0, 19)
"""Needs of a request are counted over groups with padding, and modelopt's KV type is followed."""

CHUNKED_SAVES: Version = (0, 19)
"""Layers with chunked attention keep only their chunk; 0.11.2 counts them as full ones."""

SEQS_BOUND_BY_BLOCKS: Version = (0, 20)
"""A hybrid model is refused when max_num_seqs exceeds the blocks (vllm#38270); before, graphs
were captured for fewer requests."""

GRAPHS_IN_BUDGET: Version = (0, 21)
"""CUDA graphs are taken off the budget; before, they came on top of it."""

GRAPHS_INCLUDE_A_STEP: Version = (0, 26)
"""With delta nets the estimate of CUDA graphs includes a step's activation (vllm#50780)."""

TOKENS_BY_CONCURRENCY: Version = (0, 21)
"""The logged size of the KV cache is concurrency times the longest request."""

LARGER_DEFAULTS: Version = (0, 32)
"""Utilization 0.92, 16384 tokens a step from 160 GiB, prefix caching for hybrid models."""

NULL_BLOCK_RESERVED: Version = (0, 32)
"""One block is held back in the check, and windows allow for steps that overlap."""


def read_version(text: str | None) -> Version | None:
    """Return major and minor number of e.g. ``0.19.1``, or None when there is none."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})", text or "")
    return (int(match[1]), int(match[2])) if match else None
