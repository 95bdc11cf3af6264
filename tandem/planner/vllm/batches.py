"""How many requests and tokens vLLM puts into one step, and how many steps overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.vllm.flags import Flags
from tandem.planner.vllm.versions import IN_FLIGHT_TOKENS, LARGER_STEPS, STAGES_OVERLAP, Version
from tandem.units import GIB

if TYPE_CHECKING:
    from tandem.planner.memory.hosts import HostMemory
    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings

SYNCHRONOUS = {"ngram", "medusa", "suffix", "mlp_speculator"}
"""Ways of speculative decoding with which no steps overlap."""


def batch_defaults(version: Version, head: HostMemory | None, ranks: int) -> tuple[int, int]:
    """Return max_num_seqs and max_num_batched_tokens.

    ``get_batch_defaults``, vllm/engine/arg_utils.py, 0.10.2 to 0.32.0.
    """
    if head and head.is_cpu:
        return 128 * ranks, 2048 * ranks
    total = head.total if head else 0
    if total >= 160 * GIB and version >= LARGER_STEPS:
        return 1024, 16384
    if total >= 70 * GIB and "a100" not in ((head.device or "") if head else "").lower():
        return 1024, 8192
    return 256, 2048


def fitted(tokens: int, seqs: int, longest: int | None, flags: Flags) -> int:
    """Return the default of max_num_batched_tokens for so long a request."""
    if longest is None:
        return tokens
    if flags.switch("--enable-chunked-prefill") is False:
        tokens = max(tokens, longest)
    return min(tokens, seqs * longest)


def steps_in_flight(
    settings: Settings, model: Architecture, version: Version, head: HostMemory | None, method: str
) -> int:
    """Return how many steps may be under way (``max_concurrent_batches``, vllm/config/vllm.py).

    As many as there are stages, and one more with asynchronous scheduling: it is on for GPUs, on
    Ray too (0.32.0), but not for every kind of speculative decoding.
    """
    stages = settings.serve.pipeline_parallel
    if version < IN_FLIGHT_TOKENS:
        return 1
    if stages > 1 and version < STAGES_OVERLAP and (model.experts or model.is_hybrid):
        return stages
    is_async = Flags(settings.serve.args).switch("--async-scheduling") is not False
    if not is_async or (head and head.is_cpu) or method in SYNCHRONOUS:
        return stages
    return stages + 1
