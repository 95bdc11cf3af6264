"""How a checkpoint's weights are stored: bits, scales, and which modules are left as they were."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from tandem.planner.specs import SpecModel

if TYPE_CHECKING:
    from tandem.planner.model.config_keys import ConfigKeys

_NOTHING = r"(?!)"
_PREFIXES = ("model.language_model.", "language_model.model.", "model.")


class Quantization(SpecModel):
    """A checkpoint's ``quantization_config``, as far as memory and shard widths depend on it."""

    method: str
    """vLLM's name of it, e.g. ``fp8``, ``modelopt``, ``mxfp4``, ``awq``, ``compressed-tensors``."""
    bits: int | None
    """Bits of a stored weight; None when it is not known or not one number."""
    block: tuple[int, int] | None = None
    """Rows and columns that share a scale, for FP8 with blocks."""
    group: int | None = None
    """Columns that share a scale, for 4 bits."""
    has_zeros: bool = False
    """Whether each group stores a zero point beside its scale."""
    left_out: tuple[str, ...] = ()
    """Patterns of module names that keep the model's own type."""
    kv_bits: int | None = None
    """Bits of a KV cache value when the checkpoint wants a type of its own, else None."""

    def leaves_out(self, module: str) -> bool:
        """Tell whether a module, e.g. ``layers.0.mlp.gate``, keeps the model's own type.

        A name in the list stands for everything inside it, a single word such as ``gate`` for
        every module of that name.
        """
        names, patterns = _prepared(self.left_out)
        parts = module.split(".")
        parents = {".".join(parts[: end + 1]) for end in range(len(parts))}
        return not names.isdisjoint(parents.union(parts)) or bool(patterns.match(module))


def read_quantization(config: ConfigKeys) -> Quantization | None:
    """Return what a model's config says about quantization, or None.

    Sources: ``_normalize_quantization_config`` (vllm/transformers_utils/
    model_arch_config_convertor.py, 0.32.0), the config.json files of Qwen, DeepSeek, MiniMax
    (fp8), OpenAI (mxfp4) and NVIDIA (modelopt). Raises UnreadableConfig.
    """
    keys = config.inner("quantization_config", "compression_config")
    if keys is None:
        return None
    method = (keys.text("quant_method") or "unknown").lower().replace("_", "-")
    algorithm = (keys.text("quant_algo") or "").upper()
    rows_columns = keys.numbers("weight_block_size")
    weights = _weights_of_groups(keys)
    group = keys.number("group_size", "q_group_size")
    if algorithm == "NVFP4" or "NVFP4" in (keys.text("format") or "").upper():
        group = group or 16
    elif method == "mxfp4":
        group = 32
    else:
        group = group or (weights.number("group_size") if weights else None)
    return Quantization(
        method=method,
        bits=_bits(method, algorithm, keys, weights),
        block=(rows_columns[0], rows_columns[1])
        if len(rows_columns) == 2 and min(rows_columns) > 0
        else None,
        group=group or None,
        has_zeros=method == "awq" or (method == "gptq" and not keys.flag("sym")),
        left_out=keys.texts("modules_to_not_convert", "ignore", "exclude_modules"),
        kv_bits=_kv_bits(keys),
    )


def _bits(method: str, algorithm: str, keys: ConfigKeys, weights: ConfigKeys | None) -> int | None:
    if algorithm == "MIXED_PRECISION":
        return None
    if method == "mxfp4" or algorithm in {"NVFP4", "W4A16_AWQ", "MXFP4"}:
        return 4
    if method == "fp8" or algorithm.startswith("FP8"):
        return 8
    return keys.number("bits", "w_bit") or (weights.number("num_bits") if weights else None)


def _weights_of_groups(keys: ConfigKeys) -> ConfigKeys | None:
    """Return the ``weights`` of compressed-tensors' only group of modules."""
    groups = keys.inner("config_groups")
    found = groups.objects() if groups else []
    return found[0].inner("weights") if len(found) == 1 else None


def _kv_bits(keys: ConfigKeys) -> int | None:
    """Return the bits of the KV cache that the checkpoint declares.

    ``kv_cache_scheme`` is an object with num_bits, ``kv_cache_quant_algo`` is e.g. ``FP8``
    (``get_kv_cache_quant_algo_string``, vllm/utils/torch_utils.py, 0.19.1).
    """
    if "kv_cache_scheme" in keys:
        scheme = keys.inner("kv_cache_scheme")
        return scheme.number("num_bits") if scheme else None
    return 8 if (keys.text("kv_cache_quant_algo") or "").upper() == "FP8" else None


@functools.cache
def _prepared(left_out: tuple[str, ...]) -> tuple[frozenset[str], re.Pattern[str]]:
    """Return plain names, and one expression for the patterns: large models have hundreds."""
    patterns = [pattern for pattern in left_out if "*" in pattern or pattern.startswith("re:")]
    names = frozenset(map(_without_prefix, {*left_out} - {*patterns}))
    return names, re.compile("|".join(map(_expression, patterns)) or _NOTHING)


def _expression(pattern: str) -> str:
    """Translate a pattern; ``re:`` marks an expression in compressed-tensors' lists."""
    if not pattern.startswith("re:"):
        return re.escape(_without_prefix(pattern)).replace(r"\*", ".*") + r"(?:\..*)?$"
    inner = pattern.removeprefix("re:")
    try:
        re.compile(f"x|(?:{inner})")
    except re.error:
        return _NOTHING
    # Names of groups may clash between patterns, and nobody needs them here.
    return _NOTHING if "(?P" in inner else f".*(?:{inner})"


def _without_prefix(name: str) -> str:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name
