"""The command line of ``vllm serve``, from settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.vllm.releases import declared_version, names_of

if TYPE_CHECKING:
    from tandem.settings import Settings

MODEL_FOLDER = "/model"
"""Where every container finds the weights."""

RESERVED = {
    "--model": "model.source",
    "--served-model-name": "model.servedName",
    "--host": "serve.listen",
    "--port": "serve.port",
    "--tensor-parallel-size": "serve.tensorParallel",
    "-tp": "serve.tensorParallel",
    "--pipeline-parallel-size": "serve.pipelineParallel",
    "-pp": "serve.pipelineParallel",
    "--max-model-len": "serve.maxModelLen",
    "--max-num-seqs": "serve.maxNumSeqs",
    "--max-num-batched-tokens": "serve.maxNumBatchedTokens",
    "--gpu-memory-utilization": "serve.gpuMemoryUtilization",
    "--kv-cache-dtype": "serve.kvCacheDtype",
    "--kv-cache-memory-bytes": "serve.kvCacheMemory",
    "--distributed-executor-backend": "tandem:backend",
}
"""Flags that settings decide, and the key that decides each."""

QUIET = "--disable-access-log-for-endpoints"


def listen_address(settings: Settings) -> str:
    """Return the address that the API listens on."""
    return str(settings.serve.listen or settings.head.address)


def server_url(settings: Settings) -> str:
    """Return where the head itself reaches the API."""
    listen = listen_address(settings)
    host = str(settings.head.address) if listen == "0.0.0.0" else listen
    return f"http://{host}:{settings.serve.port}"


def serve_arguments(settings: Settings) -> tuple[str, ...]:
    """Return the arguments after ``vllm serve``."""
    serve = settings.serve
    options = {
        "--served-model-name": settings.model.name,
        "--host": listen_address(settings),
        "--port": serve.port,
        "--tensor-parallel-size": serve.tensor_parallel,
        "--pipeline-parallel-size": serve.pipeline_parallel,
        "--distributed-executor-backend": _executor(settings),
        "--max-model-len": serve.max_model_len,
        "--max-num-seqs": serve.max_num_seqs,
        "--max-num-batched-tokens": serve.max_num_batched_tokens,
        "--gpu-memory-utilization": serve.gpu_memory_utilization,
        "--kv-cache-dtype": serve.kv_cache_dtype,
        "--kv-cache-memory-bytes": serve.kv_cache_memory,
    }
    words = [
        word for flag, value in options.items() if value is not None for word in (flag, str(value))
    ]
    return (MODEL_FOLDER, *words, *_quiet(settings), *serve.args)


def expects_reasoning(settings: Settings) -> bool:
    """Tell whether answers carry a reasoning field, because a reasoning parser is set."""
    return any(word.partition("=")[0] == "--reasoning-parser" for word in settings.serve.args)


def _quiet(settings: Settings) -> tuple[str, ...]:
    """Return what keeps the looks at the server's health out of its log, where vLLM has it."""
    names = names_of(declared_version(settings))
    known = names is not None and QUIET in names.flags
    return (QUIET, "/health,/metrics") if known else ()


def _executor(settings: Settings) -> str | None:
    if settings.spans_hosts:
        return settings.backend
    return "mp" if settings.world_size > 1 else None
