"""Starts vLLM's engine once for each command line and prints what its KV cache came to.

Runs in the image. Standard input: a JSON list of argument lists, each as after ``vllm serve``.
Standard output: one JSON object a start, with its log and, when it started, the figures.
``vllm serve`` would import vLLM anew for each start, which takes ten times as long as the start.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from vllm import AsyncEngineArgs  # type: ignore[import-not-found, unused-ignore]
from vllm.entrypoints.launchers.cli_args import (  # type: ignore[import-not-found, unused-ignore]
    make_arg_parser,
)
from vllm.model_executor.models import ModelRegistry  # type: ignore[import-not-found, unused-ignore]
from vllm.usage.usage_lib import UsageContext  # type: ignore[import-not-found, unused-ignore]
from vllm.utils.argparse_utils import (  # type: ignore[import-not-found, unused-ignore]
    FlexibleArgumentParser,
)
from vllm.v1.engine.core import EngineCore  # type: ignore[import-not-found, unused-ignore]
from vllm.v1.executor import Executor  # type: ignore[import-not-found, unused-ignore]


def start(arguments: list[str]) -> dict[str, Any]:
    """Start the engine as the API server does, stop it, and return its figures."""
    options = make_arg_parser(FlexibleArgumentParser()).parse_args(arguments)
    options.model = options.model_tag
    _import_model(options.model)
    config = AsyncEngineArgs.from_cli_args(options).create_engine_config(
        UsageContext.OPENAI_API_SERVER
    )
    core = EngineCore(config, Executor.get_class(config), log_stats=False)
    cache = core.vllm_config.cache_config
    figures = {"numBlocks": cache.num_gpu_blocks, "blockSize": cache.block_size}
    core.shutdown()
    return figures


def _import_model(folder: str) -> None:
    """Import the model's class, which vLLM would do in a process that imports all of vLLM anew."""
    for name in json.loads((Path(folder) / "config.json").read_text())["architectures"]:
        ModelRegistry.register_model(name, ModelRegistry.models[name].load_model_cls())


def start_apart(arguments: list[str]) -> dict[str, Any]:
    """Start the engine in a process of its own, since vLLM sets up its ranks once a process."""
    with tempfile.TemporaryFile() as log, tempfile.TemporaryFile() as found:
        child = os.fork()
        if child == 0:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            found.write(json.dumps(start(arguments)).encode())
            found.flush()
            os._exit(0)
        os.waitpid(child, 0)
        log.seek(0)
        found.seek(0)
        figures = json.loads(found.read() or b"{}")
        return {"log": log.read().decode(errors="replace"), **figures}


if __name__ == "__main__":
    for arguments in json.load(sys.stdin):
        print(json.dumps(start_apart(arguments)), flush=True)
