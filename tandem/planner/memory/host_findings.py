"""What to tell the user of hosts: loaders, unified memory, and memories of different size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tandem.findings import Finding, warning
from tandem.planner.vllm.engine import PLAIN_LOADERS
from tandem.units import GIB, gib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tandem.planner.memory.hosts import HostMemory
    from tandem.planner.memory.result import Fit
    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings

UTILIZATION = "tandem:serve.gpuMemoryUtilization"

UNIFIED_HEADROOM = 10 * GIB
"""What to leave to the system on unified memory, which vLLM's profile run may pass
(vllm#46307, vllm#56824)."""
UNIFIED_TOKENS = 2048
UNEVEN = 1.1
"""Ratio from which two hosts' memories count as different; drivers alone differ by 2 %."""


def host_findings(
    fit: Fit, settings: Settings, model: Architecture, memory: Mapping[str, HostMemory]
) -> Iterator[Finding]:
    """Yield warnings: none of these alone keeps a deployment from starting."""
    yield from _loader(fit)
    yield from _unified(fit, settings, memory)
    yield from _uneven(fit, model, memory)


def _loader(fit: Fit) -> Iterator[Finding]:
    if fit.options.load_format in PLAIN_LOADERS:
        return
    yield warning(
        "loader-reserve",
        "tandem:serve.args",
        f"--load-format {fit.options.load_format} keeps buffers: 4.4 to 4.6 GiB less for the KV "
        "cache were seen",
        "leave it out when memory is short",
    )


def _unified(fit: Fit, settings: Settings, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    for rank in fit.a_rank_of_each_host:
        host = memory[rank.host]
        if not host.unified or host.is_cpu:
            continue
        rest = host.total - rank.requested_bytes
        if rest < UNIFIED_HEADROOM:
            most = math.floor(100 * (host.total - UNIFIED_HEADROOM) / host.total) / 100
            yield warning(
                "unified-headroom",
                UTILIZATION,
                f"{rank.host}: {gib(rest)} of {gib(host.total)} are left to the system, and on "
                "unified memory vLLM may pass its share while it profiles; the host can hang",
                f"write {most:g} at most" if most > 0 else "take a host with more memory",
            )
        elif (
            fit.options.max_num_batched_tokens > UNIFIED_TOKENS and not settings.serve.max_model_len
        ):
            yield warning(
                "unified-headroom",
                "tandem:serve.maxNumBatchedTokens",
                f"{rank.host}: the longest request is the model's own, and "
                f"{fit.options.max_num_batched_tokens:,} tokens a step are profiled; on unified "
                "memory that may pass vLLM's share and hang the host",
                f"write serve.maxModelLen, and {UNIFIED_TOKENS} here",
            )


def _uneven(fit: Fit, model: Architecture, memory: Mapping[str, HostMemory]) -> Iterator[Finding]:
    totals = {rank.host: memory[rank.host].total for rank in fit.ranks}
    if not totals or max(totals.values()) < min(totals.values()) * UNEVEN:
        return
    least, most = min(totals, key=totals.__getitem__), max(totals, key=totals.__getitem__)
    message = (
        f"{least} has {gib(totals[least])} a GPU, {most} {gib(totals[most])}; the utilization "
        "is one number, and the rank with the fewest blocks decides for all"
    )
    stages = fit.options.pipeline_parallel
    if stages == 1:
        fix = "pipelineParallel would let a larger GPU have more layers"
        yield warning("heterogeneous-memory", "tandem:serve.tensorParallel", message, fix)
    elif fit.options.layer_partition is None and stages <= len(model.layers):
        shares = [
            min((rank.requested_bytes for rank in fit.ranks if rank.stage == stage), default=0)
            for stage in range(stages)
        ]
        partition = ",".join(map(str, _partition(len(model.layers), shares)))
        fix = f'set serve.env VLLM_PP_LAYER_PARTITION to "{partition}"'
        yield warning("heterogeneous-memory", "tandem:serve.env", message, fix)


def _partition(layers: int, shares: list[int]) -> list[int]:
    """Deal out layers in proportion, at least one a stage; the largest remainders get the rest."""
    free = layers - len(shares)
    exact = [free * share / max(1, sum(shares)) for share in shares]
    counts = [1 + math.floor(part) for part in exact]
    by_remainder = sorted(
        range(len(shares)), key=lambda stage: math.floor(exact[stage]) - exact[stage]
    )
    for stage in by_remainder[: layers - sum(counts)]:
        counts[stage] += 1
    return counts
