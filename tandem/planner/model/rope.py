"""The longest request of a model, from its positions and the scaling of its rotary embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.model.config_keys import ConfigKeys

_ALREADY_SCALED = ("su", "longrope", "llama3", "deepseek_yarn", "deepseek_llama_scaling", "default")
"""Scalings whose effect ``max_position_embeddings`` holds already."""


def longest_request(text: ConfigKeys, positions: int | None) -> int | None:
    """Return the largest max-model-len in tokens that some release of vLLM accepts.

    None when config.json names no positions: vLLM takes any length then. For YaRN releases
    differ (the factor counts from the original positions in 0.11, not at all in 0.32), and the
    larger one is returned. Source: ``_get_and_verify_max_len``, vllm/config/model.py, 0.11.2 and
    0.32.0. Raises UnreadableConfig.
    """
    if positions is None:
        return None
    lengths = [positions, text.number("model_max_length") or 0]
    is_gemma3 = (text.text("model_type") or "").startswith("gemma3")
    for scaling in () if is_gemma3 else _scalings(text):
        kind = scaling.text("rope_type", "type") or "default"
        if kind in _ALREADY_SCALED:
            continue
        base = positions
        if kind == "yarn":
            base = scaling.number("original_max_position_embeddings") or positions
        lengths.append(int(base * (scaling.ratio("factor") or 1)))
    return max(lengths)


def default_request(text: ConfigKeys, positions: int | None) -> int | None:
    """Return the max-model-len in tokens that vLLM takes when none is set.

    The longest one, but for LongRoPE the length before scaling. Source and None: as of
    ``longest_request``. Raises UnreadableConfig.
    """
    longest = longest_request(text, positions)
    if longest is None:
        return None
    kinds = {scaling.text("rope_type", "type") for scaling in _scalings(text)}
    unscaled = text.number("original_max_position_embeddings")
    return unscaled if unscaled and "longrope" in kinds else longest


def _scalings(text: ConfigKeys) -> Iterator[ConfigKeys]:
    """Yield the scaling, or one for each kind of layer."""
    for name in ("rope_scaling", "rope_parameters"):
        if scaling := text.inner(name):
            yield scaling
            yield from scaling.objects()
