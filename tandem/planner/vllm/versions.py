"""From which version vLLM counts memory in which way.

A date is the first minor release in whose source the change is; the last release of every minor
from 0.10 to 0.32 was read (0.20.0 besides 0.20.2). Paths are relative to vllm/.
"""

from __future__ import annotations

import re

Version = tuple[int, int]
"""Major and minor number."""

NEWEST: Version = (0, 32)
"""The newest version whose memory accounting was read; taken when the stack file names none."""

OLDEST: Version = (0, 10)
"""The oldest such version."""

NEEDS_BY_GROUPS: Version = (0, 14)
"""What a request needs is counted over groups of layers, padding included
(``_max_memory_usage_bytes_from_groups``, v1/core/kv_cache_utils.py). 0.14 to 0.18 look at the first
group alone and start with less than the request takes; the planner counts all, as 0.19 does."""

FOLLOWS_KV_TYPE: Version = (0, 14)
"""A KV cache of type auto follows the checkpoint (``resolve_kv_cache_dtype_string``,
utils/torch_utils.py)."""

CHUNKED_SAVES: Version = (0, 14)
"""Layers with chunked attention keep only their chunk; before, they counted as full ones
(``VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE``, envs.py)."""

STATES_IN_BLOCKS: Version = (0, 15)
"""Delta nets may cache prefixes, and a request has a state for each draft token
(``mamba_cache_mode``, ``MambaSpec.max_memory_usage_bytes``, v1/kv_cache_interface.py)."""

LARGER_UTILIZATION: Version = (0, 20)
"""gpu_memory_utilization is 0.92 by default, not 0.9 (config/cache.py)."""

GRAPHS_IN_BUDGET: Version = (0, 20)
"""CUDA graphs are taken off the budget; before, they came on top of it
(``VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS``, envs.py)."""


SEQS_BOUND_BY_BLOCKS: Version = (0, 20)
"""A hybrid model is refused when max_num_seqs exceeds the blocks (vllm#38270); before, graphs
were captured for fewer requests (config/compilation.py)."""

ALIGNED_TO_BLOCK_SIZE: Version = (0, 20)
"""A hybrid model's block is a multiple of --block-size (platforms/interface.py)."""

TOKENS_BY_CONCURRENCY: Version = (0, 21)
"""The logged size of the KV cache is concurrency times the longest request
(``_report_kv_cache_config``, v1/core/kv_cache_utils.py). So it is in 0.20.2, but not in 0.20.0."""

CACHES_HYBRID_PREFIXES: Version = (0, 26)
"""Prefix caching is on for hybrid models unless switched off (``is_prefix_caching_supported``,
config/model.py)."""

IN_FLIGHT_TOKENS: Version = (0, 26)
"""Windows and chunks allow for steps that overlap (``max_in_flight_tokens``, config/vllm.py)."""

GRAPHS_INCLUDE_A_STEP: Version = (0, 26)
"""With delta nets the estimate of CUDA graphs includes a step's activation (vllm#50780, which
compared 0.23 and 0.26: the estimate is the same code, the model's own is not)."""

MLA_ALIGNED_TO_128: Version = (0, 27)
"""A hybrid model's block is a multiple of 128 tokens with MLA (platforms/interface.py)."""

LARGER_STEPS: Version = (0, 28)
"""16384 tokens a step by default from 160 GiB (``get_batch_defaults``, engine/arg_utils.py)."""

LARGER_GRAPHS: Version = (0, 28)
"""Data-centre Blackwell captures graphs for batches up to 1024 (``_set_cudagraph_sizes``,
config/vllm.py)."""

NULL_BLOCK_RESERVED: Version = (0, 29)
"""One block is held back in the check (v1/core/kv_cache_utils.py)."""

STAGES_OVERLAP: Version = (0, 29)
"""Every model has a step more in flight than pipeline stages; before, those with experts or delta
nets had as many as stages (``use_v2_model_runner``, ``max_concurrent_batches``, config/vllm.py)."""


def read_version(text: str | None) -> Version | None:
    """Return major and minor number of e.g. ``0.19.1``, or None when there is none."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})", text or "")
    return (int(match[1]), int(match[2])) if match else None
