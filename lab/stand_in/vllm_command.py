"""The stand-in's command ``vllm serve``: ends when a rank is lost, as vLLM does."""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from pathlib import Path
from threading import Thread

from lab.stand_in.api import Api, Served
from lab.stand_in.engine import Engine, end
from lab.stand_in.ranks import (
    API_SHUTDOWN_SECONDS,
    Place,
    Ranks,
    end_engine,
    end_with_0_when_stopped,
    run_headless,
)
from lab.stand_in.session import Node, SessionLost, attend

START_SECONDS = 1.0
PLACEMENT_SECONDS = 60.0
"""How long the start waits for GPUs that are not there yet."""
CONTEXT_TOKENS = 4096
_GIB = 1024**3

_WITH_VALUE = (
    *("--disable-access-log-for-endpoints", "--watchdog-config"),
    *("--gpu-memory-utilization", "--kv-cache-dtype", "--kv-cache-memory-bytes", "--load-format"),
    *("--max-num-batched-tokens", "--quantization", "--seed", "--tool-call-parser", "--dtype"),
)
_SWITCHES = (
    *("--enable-auto-tool-choice", "--enable-expert-parallel", "--enable-prefix-caching"),
    *("--enforce-eager", "--trust-remote-code"),
)


def main(words: list[str]) -> None:
    """Serve for ever. Raises OSError when the port is taken."""
    options = command_line().parse_args(words)
    place = _place_of_node(options) if options.nnodes > 1 else None
    if place and options.headless:
        run_headless(place)
    ranks = Ranks(place) if place else None
    engine = Engine(options.max_num_seqs, ranks.step) if ranks else Engine(options.max_num_seqs)
    name, context = options.served_model_name or options.model, options.max_model_len
    key = os.environ.get("VLLM_API_KEY")
    served = Served(name, context, bool(options.reasoning_parser), key)
    api = Api((options.host, options.port), engine, served)
    if ranks:
        end_with_0_when_stopped(ranks, API_SHUTDOWN_SECONDS)
        api.when_lost = partial(end_engine, ranks)
        ranks.wait_until_joined()
        ranks.watch(api.when_lost)
    if options.distributed_executor_backend == "ray":
        _place(options.tensor_parallel_size * options.pipeline_parallel_size)
    time.sleep(START_SECONDS)
    size = sum(file.stat().st_size for file in Path(options.model).rglob("*.safetensors"))
    _say(f"Model loading took {size / _GIB:.2f} GiB and {START_SECONDS:.1f} seconds")
    _say(f"GPU KV cache size: {context * options.max_num_seqs:,} tokens")
    _say(f"Maximum concurrency for {context:,} tokens per request: {options.max_num_seqs}.00x")
    _say(f"Starting vLLM API server 0 on http://{options.host}:{options.port}")
    api.server_activate()
    api.serve_forever()


def _place_of_node(options: argparse.Namespace) -> Place:
    return Place(
        options.tensor_parallel_size * options.pipeline_parallel_size,
        options.nnodes,
        options.node_rank,
        (options.master_addr, options.master_port),
        options.distributed_timeout_seconds,
    )


def _place(gpus: int) -> None:
    """Wait for so many GPUs; from then on a node that is lost ends the process."""
    address = os.environ["RAY_ADDRESS"]
    placed: list[Node] = []
    deadline = time.monotonic() + PLACEMENT_SECONDS

    def each_beat(nodes: list[Node]) -> bool:
        if placed and any(node not in nodes for node in placed):
            end("EngineDeadError: a node of the session is lost")
        if not placed and sum(node.gpus for node in nodes) >= gpus:
            placed.extend(nodes)
        if not placed and time.monotonic() > deadline:
            end(f"no {gpus} GPUs after {PLACEMENT_SECONDS:.0f} s")
        return True

    def watch() -> None:
        try:
            attend(address, None, each_beat)
        except SessionLost as problem:
            end(f"EngineDeadError: {problem}")

    Thread(target=watch, daemon=True).start()
    while not placed:
        time.sleep(0.1)


def _say(text: str) -> None:
    print(f"INFO (a stand-in) {text}", flush=True)


def command_line() -> argparse.ArgumentParser:
    """Return the parser of ``vllm serve``: what Tandem sets, and what the lab's stacks add."""
    parser = argparse.ArgumentParser(prog="vllm")
    serve = parser.add_subparsers(required=True).add_parser("serve")
    serve.add_argument("model")
    serve.add_argument("--served-model-name")
    serve.add_argument("--host", default="0.0.0.0")
    serve.add_argument("--port", type=int, default=8000)
    serve.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    serve.add_argument("--pipeline-parallel-size", "-pp", type=int, default=1)
    serve.add_argument("--distributed-executor-backend", choices=["ray", "mp"])
    serve.add_argument("--nnodes", "-n", type=int, default=1)
    serve.add_argument("--node-rank", "-r", type=int, default=0)
    serve.add_argument("--master-addr", default="127.0.0.1")
    serve.add_argument("--master-port", type=int, default=29501)
    serve.add_argument("--headless", action="store_true")
    serve.add_argument("--distributed-timeout-seconds", type=float, default=600)
    serve.add_argument("--max-model-len", type=int, default=CONTEXT_TOKENS)
    serve.add_argument("--max-num-seqs", type=int, default=256)
    serve.add_argument("--reasoning-parser")
    for flag in _WITH_VALUE:
        serve.add_argument(flag)
    for flag in _SWITCHES:
        serve.add_argument(flag, action="store_true")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
