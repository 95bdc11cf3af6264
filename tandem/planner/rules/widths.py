"""Blocks and groups of quantized weights against the width that each rank gets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tandem.findings import Finding, error, warning
from tandem.planner.rules.advice import suggestion
from tandem.planner.rules.parts import split_parts
from tandem.planner.rules.sizes import TENSOR, split_evenly, weight_group
from tandem.planner.vllm.releases import declared_version, spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tandem.planner.model.architecture import Architecture
    from tandem.planner.rules.parts import Part
    from tandem.planner.vllm.versions import Version
    from tandem.settings import Settings

TOLERATES_MERGED = (0, 14)
"""First version that lets the projections of one merged matrix end within a block
(``_maybe_allow_fp8_block_shape_mismatch``, vllm/model_executor/layers/linear.py; absent in
0.13.0)."""

REFINES_BLOCKS = (0, 29)
"""First version that refines a block of the experts' scales (``refine_fp8_moe_block_shape``,
vllm/model_executor/layers/fused_moe/oracle/fp8.py; absent in 0.28.0)."""

SMALLEST_REFINED_BLOCK = 32


def fp8_blocks(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """The width of each rank is a whole number of FP8 blocks.

    Sources: ``Fp8MoEMethod.create_weights``, vllm/model_executor/layers/quantization/fp8.py, and
    ``validate_fp8_block_shape``, utils/fp8_utils.py there, 0.11.2 to 0.32.0 (vllm#25292,
    vllm PR#48173, sglang#10852, sglang#3345).
    """
    tensor = settings.serve.tensor_parallel
    block = model.quantization.block if model.quantization else None
    if block is None or not split_evenly(settings, model):
        return
    for part in split_parts(settings, model):
        if tensor == 1 or part.is_whole(tensor, *block):
            continue
        found = _weigh(declared_version(settings), _excuse(part, tensor, block, model))
        if found is None:
            continue
        tell, note = found
        yield tell(
            "fp8-block-not-divisible",
            TENSOR,
            f"{_split_in_words(part, tensor)}, which is not divisible by the FP8 block of "
            f"{block[0]}x{block[1]}{note}",
            _fix(settings, model, part),
        )


class _Excuse(NamedTuple):
    """What newer versions of vLLM do about a block that is cut."""

    since: Version
    words: str | None
    """What they do, or None when it works as if nothing were amiss."""


def _excuse(part: Part, tensor: int, block: tuple[int, int], model: Architecture) -> _Excuse | None:
    if part.is_merged:
        return _Excuse(TOLERATES_MERGED, None)
    refined = _refined_block(part, tensor, block, model)
    if part.is_routed and refined:
        return _Excuse(REFINES_BLOCKS, f"refines the blocks to {refined} for kernels that take it")
    return None


def _weigh(
    version: Version | None, excuse: _Excuse | None
) -> tuple[Callable[[str, str, str, str], Finding], str] | None:
    """Return how to tell of it, with a note; None when the version does not mind."""
    if excuse is None or (version is not None and version < excuse.since):
        return error, ""
    if version is None:
        return warning, f" (an error before vLLM {spoken(excuse.since)}; set image.vllm)"
    return (warning, f" (vLLM {spoken(version)} {excuse.words})") if excuse.words else None


def weight_groups(settings: Settings, model: Architecture) -> Iterator[Finding]:
    """The width of each rank is a whole number of groups of AWQ and GPTQ.

    Sources: ``create_weights`` of awq.py and gptq.py (0.11.2, 0.19.1), auto_awq.py (0.32.0) in
    vllm/model_executor/layers/quantization, and ``check_moe_marlin_supports_layer`` of
    utils/marlin_utils.py there: routed experts fall back to a slower kernel instead.
    """
    tensor, group = settings.serve.tensor_parallel, weight_group(model)
    if group is None or not split_evenly(settings, model):
        return
    for part in split_parts(settings, model):
        if tensor == 1 or part.is_whole(tensor, 1, group):
            continue
        note = "; vLLM takes a slower kernel for these experts" if part.is_routed else ""
        tell = warning if part.is_routed else error
        yield tell(
            "weight-group-not-divisible",
            TENSOR,
            f"{_split_in_words(part, tensor)}, which is not divisible by the group size of "
            f"{group}{note}",
            _fix(settings, model, part),
        )


def _refined_block(part: Part, tensor: int, block: tuple[int, int], model: Architecture) -> int:
    """Return the block that vLLM refines to, 0 when it can't."""
    shard, rest = divmod(part.width, tensor)
    refined = math.gcd(*block, shard, model.hidden)
    return refined if rest == 0 and refined >= SMALLEST_REFINED_BLOCK else 0


def _split_in_words(part: Part, tensor: int) -> str:
    shares = part.shares(tensor)
    ranks = f"tensorParallel {tensor}" if shares == tensor else f"{shares} heads"
    return f"width {part.width} of {part.name} / {ranks} = {part.width / shares:g}"


def _fix(settings: Settings, model: Architecture, part: Part) -> str:
    text = suggestion(settings, model)
    if part.is_routed:
        has_shared = model.experts is not None and model.experts.shared_width > 0
        rest = " (the shared expert is split all the same)" if has_shared else ""
        text += f", or add --enable-expert-parallel to serve.args{rest}"
    return text
