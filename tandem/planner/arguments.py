"""The command line of ``vllm serve``, from settings."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tandem.planner.vllm.releases import declared_version, names_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tandem.settings import Settings

    Value = Callable[[Settings], object]

MODEL_FOLDER = "/model"
"""Where every container finds the weights."""

RECORDS_FOLDER = "/var/lib/tandem"
"""Where the programs around vLLM keep what is to be read after it has ended."""


@dataclass(frozen=True)
class Argument:
    """An argument of ``vllm serve`` that Tandem sets."""

    flag: str
    key: str | None
    """The key that decides it, so ``serve.args`` may not; None where they may say otherwise."""
    value: Value
    """Makes its value from the settings; None leaves the argument out."""
    short: str | None = None
    """The flag's short name."""
    is_positional: bool = False
    """Whether it is given by its place, without the flag."""

    def words(self, settings: Settings) -> tuple[str, ...]:
        """Return the words of the command line, none where it is left out."""
        value = self.value(settings)
        if value is None:
            return ()
        return (str(value),) if self.is_positional else (self.flag, str(value))


def listen_address(settings: Settings) -> str:
    """Return the address that the API listens on."""
    return str(settings.serve.listen or settings.first_host.address)


def server_url(settings: Settings) -> str:
    """Return where the first host itself reaches the API."""
    listen = listen_address(settings)
    host = str(settings.first_host.address) if listen == "0.0.0.0" else listen
    return f"http://{host}:{settings.serve.port}"


def serve_arguments(settings: Settings) -> tuple[str, ...]:
    """Return the arguments after ``vllm serve``; the model comes first."""
    words = (word for argument in ARGUMENTS for word in argument.words(settings))
    return (*words, *settings.serve.args)


def expects_reasoning(settings: Settings) -> bool:
    """Tell whether answers carry a reasoning field, because a reasoning parser is set."""
    return any(word.partition("=")[0] == "--reasoning-parser" for word in settings.serve.args)


def _executor(settings: Settings) -> str | None:
    if settings.spans_hosts:
        return settings.backend
    return "mp" if settings.world_size > 1 else None


_QUIET = "--disable-access-log-for-endpoints"


def _quiet_endpoints(settings: Settings) -> str | None:
    """Return what keeps the looks at the server's health out of its log, where vLLM has it."""
    names = names_of(declared_version(settings))
    return "/health,/metrics" if names is not None and _QUIET in names.flags else None


_WATCHDOG = "--watchdog-config"


def _watchdog(settings: Settings) -> str | None:
    """Return where vLLM writes the stacks of a process that stands still, where it can.

    The folder is the one that supervise.py makes; an image's own entrypoint is not put behind it.
    """
    names = names_of(declared_version(settings))
    if names is None or _WATCHDOG not in names.flags or settings.image.entrypoint == "image":
        return None
    return json.dumps({"dump_dir": RECORDS_FOLDER})


ARGUMENTS = (
    Argument("--model", "model.source", lambda _: MODEL_FOLDER, is_positional=True),
    Argument("--served-model-name", "model.servedName", lambda stack: stack.model.name),
    Argument("--host", "serve.listen", listen_address),
    Argument("--port", "serve.port", lambda stack: stack.serve.port),
    Argument(
        "--tensor-parallel-size",
        "serve.tensorParallel",
        lambda stack: stack.serve.tensor_parallel,
        short="-tp",
    ),
    Argument(
        "--pipeline-parallel-size",
        "serve.pipelineParallel",
        lambda stack: stack.serve.pipeline_parallel,
        short="-pp",
    ),
    Argument("--distributed-executor-backend", "tandem:backend", _executor),
    Argument("--max-model-len", "serve.maxModelLen", lambda stack: stack.serve.max_model_len),
    Argument("--max-num-seqs", "serve.maxNumSeqs", lambda stack: stack.serve.max_num_seqs),
    Argument(
        "--max-num-batched-tokens",
        "serve.maxNumBatchedTokens",
        lambda stack: stack.serve.max_num_batched_tokens,
    ),
    Argument(
        "--gpu-memory-utilization",
        "serve.gpuMemoryUtilization",
        lambda stack: stack.serve.gpu_memory_utilization,
    ),
    Argument("--kv-cache-dtype", "serve.kvCacheDtype", lambda stack: stack.serve.kv_cache_dtype),
    Argument(
        "--kv-cache-memory-bytes",
        "serve.kvCacheMemory",
        lambda stack: stack.serve.kv_cache_memory,
    ),
    Argument(_QUIET, None, _quiet_endpoints),
    Argument(_WATCHDOG, None, _watchdog),
)
"""Every argument that Tandem sets, in the order of the command line."""

RESERVED = {
    flag: argument.key
    for argument in ARGUMENTS
    if argument.key is not None
    for flag in (argument.flag, argument.short)
    if flag is not None
}
"""Flags that settings decide, and the key that decides each."""
