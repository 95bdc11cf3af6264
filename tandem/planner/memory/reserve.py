"""What a rank's memory holds beside weights and KV cache: named ranges, each with its source.

A model's specification gives none of these numbers. Each is a range from a measurement or a log;
where there is neither, the source says "assumed". tests/cases/README.md says which logged start
set which constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.memory.graphs import graphs
from tandem.planner.specs import SpecModel
from tandem.planner.vllm.engine import PLAIN_LOADERS
from tandem.planner.vllm.versions import GRAPHS_IN_BUDGET, GRAPHS_INCLUDE_A_STEP
from tandem.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.memory.hosts import HostMemory
    from tandem.planner.model.architecture import Architecture
    from tandem.planner.vllm.engine import EngineOptions

GRAPHS = "CUDA graphs"

VALUE_BYTES = 2
"""Activations are bfloat16 or float16."""

CONTEXT = 0.60 * GIB
CUBLAS = 0.07 * GIB
FIRST_GROUP = 0.82 * GIB
FURTHER_GROUP = 0.47 * GIB
WITH_NVLS = 0.5 * GIB
BETWEEN_HOSTS = 0.5 * GIB
WORKSPACES = (0.1 * GIB, 1.1 * GIB)
STEP_MARGIN = 1.3
SAMPLER_COPIES = (3, 8.5)
IMAGE_TOKENS = 16384
MARLIN_GROWTH = {
    "mxfp4": (0.070, 0.086, "gpt-oss: 13.72 GiB for 12.82 on A100, 65.97 for 60.77 on H100"),
    "modelopt": (0, 0.36, "100.6 GiB for 74.0 on GB10, eugr#388"),
    "modelopt-fp4": (0, 0.36, "100.6 GiB for 74.0 on GB10, eugr#388"),
}
"""Least and most growth of 4-bit floats that Marlin multiplies, by quantization, and its source."""
FAST_LOADER = (4.4 * GIB, 4.6 * GIB)
UNIFIED = 4 * GIB
NATIVE_FOUR_BITS = ("b200", "b300", "rtx 50", "rtx pro")
"""Parts of the names of GPUs that multiply 4-bit floats themselves (Blackwell)."""
WITHOUT_NVSWITCH = ("rtx", "gb10", "a10", "a40", "l40", "tesla", "thor", "orin", "radeon")
"""Parts of the names of GPUs for which NCCL has no NVLS, which needs the switches of Hopper on."""


class ReservePart(SpecModel):
    """One thing that takes memory, in bytes, with the least and the most that it may take."""

    name: str
    low: int
    high: int
    source: str


class Reserve(SpecModel):
    """What one rank holds beside weights and KV cache."""

    parts: tuple[ReservePart, ...]
    """What is taken off the budget."""
    outside: tuple[ReservePart, ...]
    """What is taken beside the budget: before vLLM measures, or after the KV cache is made."""

    @property
    def low(self) -> int:
        """Return the least that all parts together take off the budget, in bytes."""
        return sum(part.low for part in self.parts)

    @property
    def before(self) -> int:
        """Return the most that is taken before vLLM looks at what is free, in bytes."""
        return sum(part.high for part in self.outside if part.name != GRAPHS)

    @property
    def high(self) -> int:
        """Return the most that all parts together take off the budget, in bytes."""
        return sum(part.high for part in self.parts)

    def as_logged(self, size: int, origin: str) -> Reserve:
        """Return a reserve in which what a start logged stands for everything assumed."""
        logged = ReservePart(name="as logged", low=size, high=size, source=origin)
        return Reserve(parts=(logged,), outside=self.outside)


class RankShare(SpecModel):
    """What a rank has of the model, as far as its reserve depends on it."""

    weights_bytes: int
    layers: int
    is_last_stage: bool


def reserve(
    model: Architecture,
    options: EngineOptions,
    memory: HostMemory,
    share: RankShare,
    *,
    spans_hosts: bool,
) -> Reserve:
    """Return the reserve of one rank.

    vLLM measures when the CUDA context and NCCL's groups are there (gpu_worker.py, 0.11.2 to
    0.32.0), so none of that need count against the budget; what is made late does.
    """
    if memory.is_cpu:
        return Reserve(parts=(), outside=())
    context = _part("CUDA context and cuBLAS", CUBLAS, CONTEXT + CUBLAS, "measured on H200")
    groups = _groups(model, options, memory, spans_hosts=spans_hosts)
    captured = _graphs(model, options, memory, share)
    are_graphs_counted = options.version >= GRAPHS_IN_BUDGET
    parts = [
        context,
        *groups,
        _part(
            "attention workspaces",
            *WORKSPACES,
            "outside torch, context included: 0.27 GiB on a 5090, vllm#46778; 1.79 on H100, #10511",
        ),
        *_peaks(model, options, share),
        *_repacking(model, memory, share),
    ]
    if options.load_format not in PLAIN_LOADERS:
        source = "4.4 to 4.6 GiB less KV, MiaAI-Lab GLM-5.3 #204"
        parts.append(_part("fast loader", *FAST_LOADER, source))
    if memory.unified:
        parts.append(_part("unified memory", 0, UNIFIED, "assumed, to meet eugr#396"))
    if are_graphs_counted:
        parts += captured
    before = [part.model_copy(update={"low": part.high}) for part in (context, *groups)]
    after = [] if are_graphs_counted else captured
    return Reserve(parts=tuple(parts), outside=(*before, *after))


def _part(name: str, low: float, high: float, source: str) -> ReservePart:
    return ReservePart(name=name, low=round(low), high=round(high), source=source)


def _groups(
    model: Architecture, options: EngineOptions, memory: HostMemory, *, spans_hosts: bool
) -> list[ReservePart]:
    """Return NCCL's buffers: groups of the world, of TP, of PP and of experts."""
    tensor, pipeline = options.tensor_parallel > 1, options.pipeline_parallel > 1
    further = tensor + pipeline + (tensor and model.experts is not None)
    if not further:
        return []
    high = FIRST_GROUP + further * FURTHER_GROUP
    source = "measured on H200, 0.82 and 0.47 GiB each further group"
    device = (memory.device or "").lower()
    if not any(name in device for name in WITHOUT_NVSWITCH):
        high += WITH_NVLS
        source += "; 0.5 with NVLS, vllm#10511"
    if not spans_hosts:
        return [_part("NCCL groups", 0, high, source)]
    return [_part("NCCL groups", 0, high + BETWEEN_HOSTS, f"{source}; 0.5 between hosts assumed")]


def _peaks(model: Architecture, options: EngineOptions, share: RankShare) -> Iterator[ReservePart]:
    """Yield what one step takes at most: the layers, then the sampler, then the vision tower.

    One after the other uses the same memory, so each counts as far as it exceeds those before.
    """
    steps = [
        ("peak activation", _activation(model, options), "vllm#10517: 2.07 GiB at 20,000 tokens"),
        ("sampler warm-up", _sampler(model, options, share), "vllm#27508, vllm#14452"),
        ("vision tower's profile run", _vision(model, options), "assumed"),
    ]
    reached_low = reached_high = 0.0
    for name, (low, high), source in steps:
        more_low, more_high = max(0.0, low - reached_low), max(0.0, high - reached_high)
        reached_low, reached_high = reached_low + more_low, reached_high + more_high
        if more_high:
            yield _part(name, min(more_low, more_high), more_high, source)


def _activation(model: Architecture, options: EngineOptions) -> tuple[float, float]:
    """Return the bytes of a layer's inputs and outputs over all tokens of a step.

    Three vectors of the hidden size and three of the width in use, which met both anchors of a
    Llama-3.1-8B (2.07 GiB at 20,000 tokens, 2.99 at 29,000, vllm#10517) to 1 %. Experts add one
    output for each that a token goes to, more or less of it at once (vllm#25350).
    """
    ranks = options.tensor_parallel
    attention = 4 * model.heads * model.head_dim / ranks
    dense = 3 * (model.dense_width or 0) / ranks
    routed = outputs = 0.0
    if experts := model.experts:
        split = ranks if options.splits_experts else 1
        routed = 3 * experts.per_token * experts.width / split + 3 * experts.shared_width / ranks
        outputs = experts.per_token * model.hidden
    token = VALUE_BYTES * (3 * model.hidden + max(attention, dense, routed))
    tokens = options.max_num_batched_tokens
    return tokens * token, tokens * (token + VALUE_BYTES * outputs) * STEP_MARGIN


def _sampler(model: Architecture, options: EngineOptions, share: RankShare) -> tuple[float, float]:
    """Return the logits of every request and their copies, sorted and summed, in float32."""
    if not share.is_last_stage:
        return 0, 0
    logits = model.vocab * options.max_num_seqs * 4
    return SAMPLER_COPIES[0] * logits, SAMPLER_COPIES[1] * logits


def _vision(model: Architecture, options: EngineOptions) -> tuple[float, float]:
    """Return at most the widest layer of the tower over the patches of one large image."""
    tower = model.vision
    if tower is None or not options.loads_vision:
        return 0, 0
    ranks = options.tensor_parallel if options.splits_vision else 1
    patches = max(options.max_num_batched_tokens, IMAGE_TOKENS) * tower.merged
    return 0, patches * VALUE_BYTES * (4 * tower.hidden + (3 * tower.hidden + tower.width) / ranks)


def _repacking(model: Architecture, memory: HostMemory, share: RankShare) -> Iterator[ReservePart]:
    """Yield what 4-bit floats grow by where Marlin multiplies them instead of the GPU."""
    quantization, device = model.quantization, (memory.device or "").lower()
    if quantization is None or quantization.method not in MARLIN_GROWTH:
        return
    if quantization.bits != 4 or any(name in device for name in NATIVE_FOUR_BITS):
        return
    least, most, source = MARLIN_GROWTH[quantization.method]
    # GB10 has the instructions, but not every version of vLLM uses them.
    is_certain = device and "gb10" not in device
    size = share.weights_bytes
    yield _part("repacked weights", size * least if is_certain else 0, size * most, source)


def _graphs(
    model: Architecture, options: EngineOptions, memory: HostMemory, share: RankShare
) -> list[ReservePart]:
    if not options.uses_graphs:
        return []
    low, high, source = graphs(share.layers, options, memory)
    if model.is_hybrid and options.version >= GRAPHS_INCLUDE_A_STEP:
        high += _activation(model, options)[1]
        source += "; with delta nets a step's activation on top, vllm#50780"
    return [_part(GRAPHS, low, high, source)]
