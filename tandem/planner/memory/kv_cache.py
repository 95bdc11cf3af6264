"""The KV cache as vLLM lays it out: pages, groups of layers, blocks, and what a request needs.

All layers of a stage share one pool of blocks. Layers of one kind form groups of equal size; a
block holds one page for each layer of a group, and a request takes blocks for every group
(vllm/v1/core/kv_cache_utils.py and vllm/v1/kv_cache_interface.py, 0.11.2, 0.19.1, 0.32.0).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tandem.planner.model.layers import LayerKind
from tandem.planner.specs import SpecModel
from tandem.planner.vllm.engine import LATENT_WITH_SCALES
from tandem.planner.vllm.versions import (
    ALIGNED_TO_BLOCK_SIZE,
    MLA_ALIGNED_TO_128,
    NEEDS_BY_GROUPS,
    NULL_BLOCK_RESERVED,
    STATES_IN_BLOCKS,
    TOKENS_BY_CONCURRENCY,
)
from tandem.units import divide_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tandem.planner.model.architecture import Architecture, DeltaNet
    from tandem.planner.vllm.engine import EngineOptions

LATENT_WITH_SCALES_BYTES = 656
"""Bytes of a token in ``fp8_ds_mla`` (``MLAAttentionSpec``, 0.19.1)."""

KERNEL_ALIGNMENT = 16
KERNEL_ALIGNMENT_MLA = 64
KERNEL_ALIGNMENT_MLA_NEWER = 128
_NEARLY_EQUAL = 1.5


class Group(SpecModel):
    """Layers of one kind that share their blocks."""

    kind: LayerKind
    layers: tuple[int, ...]
    """How many of its layers each pipeline stage has."""


class KvLayout(SpecModel):
    """How the KV cache of a model is laid out on every rank."""

    block_size: int
    """Tokens of a block."""
    page_bytes: int
    """Bytes of one layer's part of a block, the same for every layer."""
    groups: tuple[Group, ...]

    def block_bytes(self, stage: int) -> int:
        """Return the bytes of a block on a rank of one stage."""
        return self.page_bytes * max(group.layers[stage] for group in self.groups)


class KvCache:
    """Answers how much a KV cache holds and needs. Lengths in tokens, sizes in bytes a rank."""

    def __init__(
        self, model: Architecture, options: EngineOptions, stages: Sequence[tuple[int, int]]
    ) -> None:
        self._model = model
        self._options = options
        self.layout = _layout(model, options, stages)

    def blocks_per_request(self, length: int) -> int:
        """Return the blocks that a request of so many tokens takes."""
        return sum(self._blocks(group.kind, length) for group in self.layout.groups)

    def needed_bytes(self, stage: int, length: int) -> int:
        """Return what one request needs, as vLLM's error says it.

        Without the hybrid manager 0.11.2 says less than it then takes; what it takes counts here.
        """
        if self._options.version < NEEDS_BY_GROUPS:
            pages = sum(
                group.layers[stage] * self._blocks(group.kind, length)
                for group in self.layout.groups
            )
            return pages * self.layout.page_bytes
        return self.layout.block_bytes(stage) * self.blocks_per_request(length)

    def required_budget(self, stage: int, length: int) -> int:
        """Return the least budget with which vLLM starts; newer ones hold one block back."""
        spare = self._options.version >= NULL_BLOCK_RESERVED
        return self.needed_bytes(stage, length) + spare * self.layout.block_bytes(stage)

    def num_blocks(self, budgets: Sequence[int]) -> int:
        """Return the blocks of every rank, given the budget of a rank of each stage.

        The smallest rank decides for all.
        """
        return min(
            max(0, budget) // self.layout.block_bytes(stage)
            for stage, budget in enumerate(budgets)
            if self.layout.block_bytes(stage)
        )

    def concurrency(self, num_blocks: int, length: int) -> float:
        """Return how many requests of so many tokens fit at once."""
        return num_blocks / self.blocks_per_request(length)

    def tokens(self, num_blocks: int, length: int) -> int:
        """Return the size that vLLM logs, "GPU KV cache size", which no division explains."""
        if self._options.version >= TOKENS_BY_CONCURRENCY:
            return int(self.concurrency(num_blocks, length) * length)
        block = self.layout.block_size
        if self._model.is_hybrid and not self._options.caches_prefixes:
            block = min(block, length)  # a state counts as a block of the longest request
        return num_blocks // len(self.layout.groups) * block * self._options.context_parallel

    def largest_length(self, budgets: Sequence[int], limit: int) -> int:
        """Return the longest request that fits, at most ``limit``, or 0: vLLM's binary search."""
        low, high = 0, limit
        while low < high:
            middle = (low + high + 1) // 2
            if all(
                self.required_budget(stage, middle) <= budget
                for stage, budget in enumerate(budgets)
            ):
                low = middle
            else:
                high = middle - 1
        return low

    def _blocks(self, kind: LayerKind, length: int) -> int:
        """Return the blocks of one group (``max_memory_usage_bytes`` of each kind)."""
        options, block = self._options, self.layout.block_size
        window = self._model.window or 0
        if kind is LayerKind.SLIDING:
            tokens = min(window - 1 + options.in_flight_tokens, length)
            return divide_up(tokens, block) + 1  # a window need not start where a block does
        if kind is LayerKind.CHUNKED:
            return divide_up(min(window + options.in_flight_tokens, length), block)
        if kind is LayerKind.DELTA_NET:
            if options.version < STATES_IN_BLOCKS:
                return 1
            return (2 if options.caches_prefixes else 1) + options.draft_tokens
        return divide_up(divide_up(length, options.context_parallel), block)


def _layout(
    model: Architecture, options: EngineOptions, stages: Sequence[tuple[int, int]]
) -> KvLayout:
    token = _token_bytes(model, options)
    block = options.block_size
    if model.delta_net:
        # A page of attention has to hold a state, which is padded up to it.
        align = _alignment(model, options)
        state = _state_bytes(model.delta_net, options)
        block = max(block, divide_up(state, align * token) * align)
    return KvLayout(
        block_size=block,
        page_bytes=block * token,
        groups=_groups(_kinds(model, options, stages), stages),
    )


def _alignment(model: Architecture, options: EngineOptions) -> int:
    """Return the multiple that a hybrid model's block is rounded to.

    vllm/model_executor/models/config.py (0.19.1), vllm/platforms/interface.py (from 0.20).
    """
    least = KERNEL_ALIGNMENT
    if model.mla:
        newer = options.version >= MLA_ALIGNED_TO_128
        least = KERNEL_ALIGNMENT_MLA_NEWER if newer else KERNEL_ALIGNMENT_MLA
    is_multiple = options.version >= ALIGNED_TO_BLOCK_SIZE
    return max(least, options.block_size) if is_multiple else least


def _token_bytes(model: Architecture, options: EngineOptions) -> int:
    """Return the bytes of one token in one attention layer on one rank."""
    value = options.kv_value_bytes or 0
    if model.mla:
        if options.kv_type == LATENT_WITH_SCALES:
            return LATENT_WITH_SCALES_BYTES
        return (model.mla.kv_lora_rank + model.mla.rope_head_dim) * value
    heads = max(1, model.kv_heads // options.tensor_parallel)
    return 2 * heads * model.head_dim * value


def _state_bytes(net: DeltaNet, options: EngineOptions) -> int:
    """Return the bytes of one layer's state on one rank, whatever the length of the request.

    ``gated_delta_net_state_shape``, vllm/model_executor/layers/mamba/mamba_utils.py.
    """
    ranks = options.tensor_parallel
    mixed = 2 * net.key_heads * net.key_head_dim + net.value_heads * net.value_head_dim
    convolution = mixed // ranks * (net.conv_kernel - 1 + options.draft_tokens) * 2
    recurrent = net.value_heads // ranks * net.value_head_dim * net.key_head_dim
    return convolution + recurrent * options.state_value_bytes


def _kinds(
    model: Architecture, options: EngineOptions, stages: Sequence[tuple[int, int]]
) -> list[tuple[LayerKind, int]]:
    """Return kind and stage of every layer with a cache, draft layers included."""
    found = [
        (model.layers[index].kind, stage)
        for stage, (start, end) in enumerate(stages)
        for index in range(start, end)
    ]
    if options.loads_mtp:
        found += [(LayerKind.FULL, len(stages) - 1)] * model.mtp_layers
    kinds = {kind for kind, _ in found}
    if options.saves_windows or LayerKind.FULL not in kinds:
        return found
    windows = (LayerKind.SLIDING, LayerKind.CHUNKED)
    return [(LayerKind.FULL if kind in windows else kind, stage) for kind, stage in found]


def _groups(
    found: list[tuple[LayerKind, int]], stages: Sequence[tuple[int, int]]
) -> tuple[Group, ...]:
    """Split the layers of each kind into groups of equal size.

    The smallest kind gives the size, or the largest when they are nearly equal
    (``_get_kv_cache_groups_uniform_page_size``).
    """
    counts = Counter(kind for kind, _ in found)
    least, most = min(counts.values()), max(counts.values())
    size = most if most < least * _NEARLY_EQUAL else least
    groups = []
    for kind, count in counts.items():
        of_kind = [stage for other, stage in found if other is kind]
        number = divide_up(count, size)
        for first in range(number):
            members = Counter(of_kind[first::number])
            layers = tuple(members[stage] for stage in range(len(stages)))
            groups.append(Group(kind=kind, layers=layers))
    return tuple(groups)
