"""Heads of every kind against tensor parallelism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.planner.rules.advice import suggestion
from tandem.planner.rules.sizes import (
    LARGEST,
    TENSOR,
    needs_vision_split,
    shares_evenly,
    split_evenly,
    vision_heads,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings


def attention_heads(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """Attention heads split evenly, in vLLM's own words.

    Source: ``verify_with_parallel_config``, vllm/config/model.py, 0.11.2 to 0.33.0 (vllm#414,
    vllm#596, vllm#4232).
    """
    if not split_evenly(settings, model):
        divisors = ", ".join(
            str(n) for n in range(1, min(model.heads, LARGEST) + 1) if model.heads % n == 0
        )
        yield error(
            "heads-not-divisible",
            TENSOR,
            f"total number of attention heads ({model.heads}) must be divisible by tensor parallel"
            f" size ({settings.serve.tensor_parallel}); {model.heads} is divisible by {divisors}",
            suggestion(settings, model),
        )


def kv_heads(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """Key and value heads split over the ranks, or each is copied to as many ranks.

    Source: ``QKVParallelLinear``, vllm/model_executor/layers/linear.py, 0.11.2 to 0.32.0. With
    MLA there is one compressed vector and nothing to split.
    """
    tensor = settings.serve.tensor_parallel
    if not split_evenly(settings, model) or model.mla is not None:
        return
    if not shares_evenly(model.kv_heads, tensor):
        yield error(
            "kv-heads-not-divisible",
            TENSOR,
            f"of key/value heads ({model.kv_heads}) and tensor parallel size ({tensor}) one must "
            "be divisible by the other",
            suggestion(settings, model),
        )


def linear_heads(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """Key and value heads of linear attention split evenly; they are never copied.

    Source: ``gated_delta_net_state_shape``, vllm/model_executor/layers/mamba/mamba_utils.py,
    0.32.0.
    """
    tensor = settings.serve.tensor_parallel
    if not split_evenly(settings, model) or model.delta_net is None:
        return
    for kind, count in (
        ("key", model.delta_net.key_heads),
        ("value", model.delta_net.value_heads),
    ):
        if count % tensor:
            yield error(
                "linear-heads-not-divisible",
                TENSOR,
                f"{kind} heads of linear attention ({count}) must be divisible by tensor parallel "
                f"size ({tensor})",
                suggestion(settings, model),
            )


def vision(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """Heads of the vision tower split evenly, unless each rank has the whole tower.

    Source: the attention of qwen2_5_vl.py and qwen3_vl.py, vllm/model_executor/models, 0.32.0.
    Other towers may pad their heads, so for them it is a warning.
    """
    tensor, heads = settings.serve.tensor_parallel, vision_heads(settings, model)
    if not split_evenly(settings, model) or not heads or heads % tensor == 0:
        return
    tell = error if needs_vision_split(model) else warning
    yield tell(
        "vision-heads-not-divisible",
        TENSOR,
        f"heads of the vision tower ({heads}) are not divisible by tensor parallel size ({tensor})",
        "add --mm-encoder-tp-mode data to serve.args, or " + suggestion(settings, model),
    )
