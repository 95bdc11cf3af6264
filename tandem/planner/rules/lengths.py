"""How many tokens: one request, and one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.planner.vllm.flags import Flags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings

ALLOW_LONG = "VLLM_ALLOW_LONG_MAX_MODEL_LEN"
"""The variable that turns vLLM's refusal of long requests into a warning."""

_LENGTH_FLAGS = ("--hf-overrides", "--rope-scaling", "--hf-config-path")
"""Flags that may change what config.json says of positions."""

_BATCHED = "tandem:serve.maxNumBatchedTokens"


def batched_tokens(settings: Settings) -> Iterator[Finding]:
    """A step has room for a token of every request.

    Source: ``verify_max_model_len``, vllm/config/scheduler.py, 0.11.2 to 0.32.0.
    """
    tokens, requests = settings.serve.max_num_batched_tokens, settings.serve.max_num_seqs
    if tokens is not None and requests is not None and tokens < requests:
        yield error(
            "batched-tokens-too-few",
            _BATCHED,
            f"max_num_batched_tokens ({tokens}) must be greater than or equal to max_num_seqs "
            f"({requests})",
            f"set maxNumBatchedTokens to {requests} or more, or maxNumSeqs to {tokens} or less",
        )


def whole_prompts(settings: Settings) -> Iterator[Finding]:
    """Without chunked prefill the longest prompt fits into one step.

    Source: as of ``batched_tokens``.
    """
    tokens, length = settings.serve.max_num_batched_tokens, settings.serve.max_model_len
    if tokens is None or length is None or tokens >= length:
        return
    if Flags(settings.serve.args).switch("--enable-chunked-prefill") is False:
        yield error(
            "batched-tokens-below-length",
            _BATCHED,
            f"max_num_batched_tokens ({tokens}) is smaller than max_model_len ({length}), and "
            "chunked prefill is off",
            f"remove --no-enable-chunked-prefill, or set maxNumBatchedTokens to {length}",
        )


def model_length(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """No request is longer than the model was made for.

    Source: ``_get_and_verify_max_len``, vllm/config/model.py, 0.11.2 to 0.32.0.
    """
    length, longest = settings.serve.max_model_len, model.longest_request
    if length is None or longest is None or length <= longest:
        return
    envs = (settings.serve.env, settings.first_host.env)
    is_allowed = any(env.get(ALLOW_LONG, "").strip().lower() in {"1", "true"} for env in envs)
    is_extended = any(map(Flags(settings.serve.args).has, _LENGTH_FLAGS))
    tell = warning if is_allowed or is_extended else error
    yield tell(
        "length-above-model",
        "tandem:serve.maxModelLen",
        f"max_model_len ({length}) is greater than the model's own ({longest})",
        f"set maxModelLen to {longest} or less, or extend the model with --hf-overrides",
    )
