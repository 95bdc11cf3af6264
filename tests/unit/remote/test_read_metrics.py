"""The server's numbers, from a real HTTP server with text as vLLM writes it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tandem.remote import read_metrics

# As prometheus_client writes what vllm/v1/metrics/loggers.py of 0.32 declares (a counter's name
# ends in _total there), for two engines; the values are chosen.
TEXT = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a b } c"} 2.0
vllm:num_requests_running{engine="1",model_name="a b } c"} 1.0
vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="m",reason="capacity"} 7.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.125
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
vllm:prompt_tokens_total{engine="0",model_name="m"} 1.2345e+06
vllm:prompt_tokens_created{engine="0",model_name="m"} 1.7960409e+09
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local"} 3.0
vllm:generation_tokens_total{engine="0",model_name="m"} 600.0
"""

OLD = """\
vllm:num_requests_running{model_name="m"} 1.0
vllm:gpu_cache_usage_perc{model_name="m"} 0.25
vllm:num_requests_waiting{model_name="m"} NaN
"""


class Server(BaseHTTPRequestHandler):
    """A stand-in of vLLM's API server."""

    answers = {"/health": (200, ""), "/metrics": (200, TEXT)}

    def do_GET(self) -> None:
        code, text = self.answers.get(self.path, (404, ""))
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return where a healthy server listens."""
    monkeypatch.setattr(Server, "answers", dict(Server.answers))
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,)).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_engines_are_added_up_and_the_fullest_cache_counts(url: str) -> None:
    read = read_metrics.read(url)
    assert read["problem"] is None
    (sample,) = read["samples"]
    assert sample.pop("at") > 0
    assert sample == {
        "running": 3,
        "waiting": 0,
        "kv_cache": 0.5,
        "prompt_tokens": 1_234_500,
        "generation_tokens": 600,
    }


def test_older_names_are_known_and_what_is_missing_or_no_number_is_none() -> None:
    sample = read_metrics.sample(OLD)
    assert (sample["running"], sample["kv_cache"]) == (1, 0.25)
    assert (sample["waiting"], sample["prompt_tokens"]) == (None, None)


def test_two_samples_are_so_many_seconds_apart(url: str) -> None:
    first, second = read_metrics.read(url, 0.2)["samples"]
    assert 0.2 <= second["at"] - first["at"] < 2


def test_a_server_without_metrics_is_healthy_all_the_same(url: str) -> None:
    Server.answers["/metrics"] = (404, "")
    assert read_metrics.read(url) == {"problem": None, "samples": []}


def test_a_server_that_is_not_healthy_says_its_status(url: str) -> None:
    Server.answers["/health"] = (503, "")
    read = read_metrics.read(url)
    assert read["problem"] == "/health: HTTP Error 503: Service Unavailable"
    assert read["samples"] == []


def test_a_closed_port_is_a_problem_and_no_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    read_metrics.main("http://127.0.0.1:1")
    said = json.loads(capsys.readouterr().out)
    assert said["problem"] == "/health: [Errno 111] Connection refused"
