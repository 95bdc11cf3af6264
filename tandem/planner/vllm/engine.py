"""What vLLM makes of settings, flags, model and hosts: every option that memory depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.planner.specs import SpecModel
from tandem.planner.vllm.batches import batch_defaults, fitted, steps_in_flight
from tandem.planner.vllm.flags import Flags
from tandem.planner.vllm.releases import declared_version
from tandem.planner.vllm.versions import (
    CACHES_HYBRID_PREFIXES,
    CHUNKED_SAVES,
    FOLLOWS_KV_TYPE,
    LARGER_UTILIZATION,
    NEWEST,
    STATES_IN_BLOCKS,
    Version,
)

if TYPE_CHECKING:
    from collections.abc import Collection

    from tandem.planner.memory.hosts import HostMemory
    from tandem.planner.model.architecture import Architecture
    from tandem.settings import Settings

KV_TYPE_BYTES = {
    "auto": 2,
    "bfloat16": 2,
    "float16": 2,
    "half": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "fp8_inc": 1,
}
"""Bytes of one value in the KV cache; types with scales of their own are not here."""

LATENT_WITH_SCALES = "fp8_ds_mla"

NOT_MODELLED = (
    "--data-parallel-size",
    "--prefill-context-parallel-size",
    "--num-gpu-blocks-override",
    "--mamba-block-size",
    "--mamba-cache-mode",
    "--enable-lora",
)
OTHER_WEIGHTS = ("--cpu-offload-gb", "--hf-overrides")
"""Flags with which the weights are not those that config.json and files say."""

PLAIN_LOADERS = {"auto", "hf", "safetensors", "pt", "npcache", "mistral", "dummy", "sharded_state"}
_DRAFT_IN_CHECKPOINT = "mtp"


class EngineOptions(SpecModel):
    """vLLM's options after its defaults. Sizes in bytes."""

    version: Version
    is_version_known: bool
    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    """``--decode-context-parallel-size``."""
    max_model_len: int | None
    """None when neither the stack file nor config.json says it."""
    max_num_seqs: int
    max_num_batched_tokens: int
    in_flight_tokens: int
    """Tokens that steps in flight may hold at once."""
    utilization: float
    kv_cache_memory: int | None
    block_size: int
    kv_value_bytes: int | None
    """Bytes of a value in the KV cache; None for a type that is not modelled."""
    kv_type: str
    state_value_bytes: int
    """Bytes of a value of the delta net's recurrent state."""
    caches_prefixes: bool
    saves_windows: bool
    """Whether sliding and chunked layers keep less than full ones."""
    draft_tokens: int
    """Tokens that speculative decoding proposes; 0 without it."""
    loads_mtp: bool
    draft_model: str | None
    """Another model that proposes tokens, which is not modelled; None when there is none."""
    uses_graphs: bool
    load_format: str
    loads_vision: bool
    splits_vision: bool
    splits_experts: bool
    """False with expert parallelism, which deals out whole experts."""
    layer_partition: str | None
    """``VLLM_PP_LAYER_PARTITION``."""
    not_modelled: tuple[str, ...]
    """Flags that change the KV cache or the weights in ways that are not modelled."""
    changes_weights: bool
    """Whether one of them changes what the weights take."""


def engine_options(
    settings: Settings,
    model: Architecture,
    memory: Collection[HostMemory],
    supposed: Version = NEWEST,
) -> EngineOptions:
    """Return what vLLM will use; ``supposed`` is its version when the stack file names none.

    Defaults: vllm/engine/arg_utils.py and vllm/config; what changed when is in versions.py. They
    depend on the first GPU that vLLM sees; with several hosts that is one of the head.
    """
    serve, flags = settings.serve, Flags(settings.serve.args)
    known = declared_version(settings)
    version = known or supposed
    head = next(iter(memory), None)
    longest = serve.max_model_len or model.default_request
    default_seqs, default_tokens = batch_defaults(version, head, settings.world_size)
    seqs = serve.max_num_seqs or default_seqs
    tokens = serve.max_num_batched_tokens or fitted(default_tokens, seqs, longest, flags)
    if serve.max_num_seqs is None:
        seqs = min(seqs, tokens)
    draft = flags.object("--speculative-config") or {}
    method = str(draft.get("method") or "")
    kv_type = _kv_type(serve.kv_cache_dtype, model, version)
    has_draft = bool(draft)
    loads_mtp = has_draft and (_DRAFT_IN_CHECKPOINT in method) and model.mtp_layers > 0
    return EngineOptions(
        version=version,
        is_version_known=known is not None,
        tensor_parallel=serve.tensor_parallel,
        pipeline_parallel=serve.pipeline_parallel,
        context_parallel=flags.number("--decode-context-parallel-size") or 1,
        max_model_len=longest,
        max_num_seqs=seqs,
        max_num_batched_tokens=tokens,
        in_flight_tokens=tokens * steps_in_flight(settings, model, version, head, method),
        utilization=serve.gpu_memory_utilization or _utilization(version),
        kv_cache_memory=serve.kv_cache_memory,
        block_size=flags.number("--block-size") or _block_size(model, head),
        kv_value_bytes=_kv_value_bytes(kv_type, model, flags),
        kv_type=kv_type,
        state_value_bytes=_state_value_bytes(model, flags),
        caches_prefixes=_caches_prefixes(model, flags, version),
        saves_windows=_saves_windows(model, flags, version),
        draft_tokens=_draft_tokens(draft, model) if has_draft else 0,
        loads_mtp=loads_mtp,
        draft_model=None if loads_mtp or not has_draft or "ngram" in method else method or "draft",
        uses_graphs=not flags.switch("--enforce-eager") and not (head and head.is_cpu),
        load_format=flags.text("--load-format") or "auto",
        loads_vision=not flags.switch("--language-model-only"),
        splits_vision=flags.text("--mm-encoder-tp-mode") != "data",
        splits_experts=not flags.switch("--enable-expert-parallel"),
        layer_partition=serve.env.get("VLLM_PP_LAYER_PARTITION"),
        not_modelled=tuple(_set(flags, NOT_MODELLED + _changing_weights(model))),
        changes_weights=any(_set(flags, _changing_weights(model))),
    )


def _set(flags: Flags, names: tuple[str, ...]) -> list[str]:
    """Return those of the flags that are set to something."""
    return [name for name in names if flags.switch(name)]


def _changing_weights(model: Architecture) -> tuple[str, ...]:
    """Return the flags that do; naming the checkpoint's own quantization changes nothing."""
    return OTHER_WEIGHTS if model.quantization else (*OTHER_WEIGHTS, "--quantization")


def _utilization(version: Version) -> float:
    return 0.92 if version >= LARGER_UTILIZATION else 0.9


def _block_size(model: Architecture, head: HostMemory | None) -> int:
    """Return the default; FlashMLA and other MLA kernels want 64 tokens, CPUs 128."""
    if model.mla:
        return 16 if head and head.is_cpu else 64
    return 128 if head and head.is_cpu else 16


def _kv_type(declared: str | None, model: Architecture, version: Version) -> str:
    """Resolve ``auto`` (``resolve_kv_cache_dtype_string``, vllm/utils/torch_utils.py, 0.19.1)."""
    wanted = (declared or "auto").lower()
    quantization = model.quantization
    follows = version >= FOLLOWS_KV_TYPE
    if wanted == "auto" and quantization and quantization.kv_bits == 8 and follows:
        return "fp8"
    return wanted


def _kv_value_bytes(kv_type: str, model: Architecture, flags: Flags) -> int | None:
    if kv_type == "auto":
        return 4 if flags.text("--dtype") in {"float32", "float"} else 2
    if kv_type == LATENT_WITH_SCALES and model.mla:
        return 1
    return KV_TYPE_BYTES.get(kv_type)


def _state_value_bytes(model: Architecture, flags: Flags) -> int:
    wanted = flags.text("--mamba-ssm-cache-dtype") or "auto"
    if wanted == "auto" and model.delta_net:
        wanted = model.delta_net.state_type or "auto"
    return 4 if wanted == "float32" else 2


def _caches_prefixes(model: Architecture, flags: Flags, version: Version) -> bool:
    """Return the default by version (``is_prefix_caching_supported``, vllm/config/model.py)."""
    if model.is_hybrid and version < STATES_IN_BLOCKS:
        return False  # switched off for delta nets, whatever is wanted
    wanted = flags.switch("--enable-prefix-caching")
    if wanted is not None:
        return wanted
    return not model.is_hybrid or version >= CACHES_HYBRID_PREFIXES


def _saves_windows(model: Architecture, flags: Flags, version: Version) -> bool:
    """vllm/config/vllm.py: what switches the hybrid KV cache manager off."""
    wanted = flags.switch("--disable-hybrid-kv-cache-manager")
    if wanted is not None:
        return not wanted
    has_chunks = any(layer.kind == "chunked_attention" for layer in model.layers)
    if has_chunks and version < CHUNKED_SAVES:
        return False
    return flags.text("--kv-transfer-config") is None


def _draft_tokens(draft: dict[str, Any], model: Architecture) -> int:
    """Return num_speculative_tokens, which for MTP may be left out."""
    tokens = draft.get("num_speculative_tokens")
    if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 < tokens < 1000:
        return tokens
    return max(1, model.mtp_layers)
