"""The stand-in's HTTP API: the paths of vLLM's server that a deployment and its tests ask for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

from lab.stand_in.engine import Engine
from lab.stand_in.ranks import GroupLost

DEFAULT_TOKENS = 16


@dataclass(frozen=True)
class Served:
    """What the API offers, and to whom."""

    name: str
    context_tokens: int
    has_reasoning: bool
    key: str | None
    """None when everybody may ask."""


class Api(ThreadingTCPServer):
    """Bound at once, so that a taken port ends the start; answers after ``server_activate``.

    No HTTPServer, as that looks up the name of its own address, which may take ten seconds.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], engine: Engine, served: Served) -> None:
        super().__init__(address, _Request, bind_and_activate=False)
        self.engine = engine
        self.served = served
        self.when_lost: Callable[[], None] = lambda: None
        """Called after a request that found a rank gone."""
        self.server_bind()


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Api

    def do_GET(self) -> None:
        served = self.server.served
        if self.path == "/health":
            self._send(200, b"")
        elif self.path == "/metrics":
            self._send(200, metrics(self.server.engine, served.name).encode(), "text/plain")
        elif self.path == "/v1/models" and self._is_allowed():
            model = {"id": served.name, "object": "model", "max_model_len": served.context_tokens}
            self._send_json(200, {"object": "list", "data": [model]})
        elif not self.path.startswith("/v1/"):
            self._send_json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/v1/chat/completions" and self._is_allowed():
            self._send_json(*_completion(self.server, json.loads(body)))
        elif not self.path.startswith("/v1/"):
            self._send_json(404, {"detail": "Not Found"})

    def _is_allowed(self) -> bool:
        """Tell whether the client has the key; if not, it is told so."""
        key = self.server.served.key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self._send_json(401, {"error": "Unauthorized"})
        return False

    def _send_json(self, status: int, value: object) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def metrics(engine: Engine, model: str) -> str:
    """Return the counters in Prometheus's form, under vLLM's names (vllm/v1/metrics/loggers.py)."""
    tokens = engine.prompt_tokens + engine.generation_tokens
    values: dict[str, dict[str, float]] = {
        "gauge": {
            "num_requests_running": engine.running,
            "num_requests_waiting": engine.waiting,
            "kv_cache_usage_perc": min(1.0, engine.running / 100),
        },
        "counter": {
            "prompt_tokens_total": engine.prompt_tokens,
            "generation_tokens_total": engine.generation_tokens,
        },
        "histogram": {
            "iteration_tokens_total_sum": tokens,
            "iteration_tokens_total_count": engine.steps,
        },
    }
    labels = f'{{engine="0",model_name="{model}"}}'
    lines = []
    for kind, of_kind in values.items():
        for name, value in of_kind.items():
            family = name.removesuffix("_sum").removesuffix("_count")
            if f"# TYPE vllm:{family} {kind}" not in lines:
                lines.append(f"# TYPE vllm:{family} {kind}")
            lines.append(f"vllm:{name}{labels} {float(value)}")
    return "\n".join([*lines, ""])


def _completion(server: Api, question: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    served = server.served
    if question["model"] != served.name:
        message = f"The model `{question['model']}` does not exist."
        return 404, {"error": {"message": message, "code": 404}}
    prompt = str(question["messages"][-1]["content"])
    tokens = int(
        question.get("max_tokens") or question.get("max_completion_tokens") or DEFAULT_TOKENS
    )
    try:
        server.engine.generate(prompt, tokens)
    except GroupLost:
        server.when_lost()
        return 500, {"error": {"message": "EngineDeadError: see stack trace", "code": 500}}
    reasoning = "What am I?" if served.has_reasoning else None
    answer = {"role": "assistant", "content": "I am a stand-in.", "reasoning": reasoning}
    used = {"prompt_tokens": len(prompt.split()), "completion_tokens": tokens}
    return 200, {
        "object": "chat.completion",
        "created": int(time.time()),
        "model": served.name,
        "choices": [{"index": 0, "message": answer, "finish_reason": "length"}],
        "usage": used | {"total_tokens": sum(used.values())},
    }
