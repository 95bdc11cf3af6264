"""Tensor and pipeline parallelism against the declared GPUs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.planner.layout import layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import Settings


def gpu_count(settings: Settings) -> Iterator[Finding]:
    """Every rank has a GPU, and better every GPU a rank (vllm#6938, vllm#26028)."""
    declared = sum(host.gpu_count for host in settings.hosts)
    tensor, pipeline = settings.serve.tensor_parallel, settings.serve.pipeline_parallel
    product = f"tensorParallel {tensor} x pipelineParallel {pipeline}"
    if settings.world_size > declared:
        yield error(
            "gpus-too-few",
            "tandem:serve.tensorParallel",
            f"{product} needs {settings.world_size} GPUs, the hosts declare {declared}",
            f"make the product {declared} or declare more GPUs",
        )
    elif settings.world_size < declared:
        yield warning(
            "gpus-idle",
            "tandem:serve.tensorParallel",
            f"{product} uses {settings.world_size} of {declared} declared GPUs",
            "the rest stay idle; declare fewer hosts or raise the product",
        )


def groups_within_hosts(settings: Settings) -> Iterator[Finding]:
    """Ranks that share layers sit on one host, where hosts have several GPUs.

    Tensor parallel ranks talk in every layer, pipeline stages once a step. vLLM itself only
    warns (``_wait_until_pg_ready``'s caller in vllm/v1/executor/ray_utils.py; vllm#27239). Hosts
    of one GPU have no choice.
    """
    tensor = settings.serve.tensor_parallel
    hosts = {host.name: host.gpu_count for host in settings.hosts}
    if settings.world_size > sum(hosts.values()):
        return
    ranks = layout(settings)
    for stage in range(settings.serve.pipeline_parallel):
        members = list(dict.fromkeys(rank.host for rank in ranks if rank.stage == stage))
        if len(members) > 1 and any(hosts[name] > 1 for name in members):
            counts = ", ".join(f"{name} {hosts[name]}" for name in hosts)
            within = math.gcd(*hosts.values(), settings.world_size)
            yield warning(
                "tensor-parallel-across-hosts",
                "tandem:serve.tensorParallel",
                f"the {tensor} ranks of stage {stage} share layers over the network between "
                f"{' and '.join(members)} (GPUs: {counts})",
                f"set tensorParallel to {within} and pipelineParallel to "
                f"{settings.world_size // within}: each stage is on one host then",
            )
            return
