"""The watch beside the server: what is a stall, and what ends it, with real processes."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tandem.planner.supervision import HEALTHY, OLDEST_SECONDS, health_check
from tandem.remote import liveness
from tandem.remote.liveness import Progress, read_metrics
from tests.builders import settings

NEW = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a b} c"} 2.0
vllm:num_requests_running{engine="1",model_name="a b} c"} 1.0
vllm:kv_cache_usage_perc{engine="0",model_name="a b} c"} 0.25
vllm:prompt_tokens_total{engine="0",model_name="a b} c"} 1.2e+03
vllm:generation_tokens_total{engine="0",model_name="a b} c"} 80.0
vllm:iteration_tokens_total_bucket{engine="0",le="1.0",model_name="a b} c"} 78.0
vllm:iteration_tokens_total_count{engine="0",model_name="a b} c"} 80.0
http_requests_total{handler="/v1/chat/completions",method="POST",status="2xx"} 4.0
"""
"""As vLLM 0.32 writes it."""
OLD = """\
vllm:num_requests_running{model_name="m"} 1.0
vllm:gpu_cache_usage_perc{model_name="m"} 0.25
vllm:prompt_tokens_total{model_name="m"} 7.0
vllm:generation_tokens_total{model_name="m"} 80.0
"""
"""As vLLM 0.8 writes it, less what is not read."""


def metrics(**changes: float) -> dict[str, float]:
    """Return the metrics of a server with one request running, with changes."""
    return read_metrics(OLD) | {f"vllm:{name}": value for name, value in changes.items()}


def progress(*checks: dict[str, float], healthy: bool = True) -> Progress:
    """Return what is known after checks of 15 seconds each, with a timeout of one minute."""
    seen = Progress(60)
    seen.see(healthy=True, metrics=checks[0], seconds=15)
    for check in checks:
        seen.see(healthy=healthy, metrics=check, seconds=15)
    return seen


def test_metrics_are_summed_over_engines_whatever_a_label_holds() -> None:
    found = read_metrics(NEW)
    assert found["vllm:num_requests_running"] == 3
    assert found["vllm:prompt_tokens_total"] == 1200
    assert found["vllm:iteration_tokens_total_count"] == 80
    assert "http_requests_total" not in found


@pytest.mark.parametrize("text", [NEW, OLD])
def test_requests_that_run_while_nothing_moves_are_a_stall(text: str) -> None:
    assert progress(*[read_metrics(text)] * 4).stalled(asked=False) is None
    why = progress(*[read_metrics(text)] * 5).stalled(asked=False)
    running, prompt = (3, 1200) if text == NEW else (1, 7)
    assert why == (
        f"stalled: requests running: {running}, and nothing has moved for 75 s "
        f"({prompt} prompt tokens so far, 80 generated)"
    )


@pytest.mark.parametrize(
    "moves", ["generation_tokens_total", "gpu_cache_usage_perc", "iteration_tokens_total_count"]
)
def test_whatever_moves_is_progress_as_in_a_long_prefill(moves: str) -> None:
    checks = [metrics(**{moves: float(number)}) for number in range(9)]
    assert progress(*checks).stalled(asked=False) is None


def test_an_idle_server_is_not_stalled_but_asked_for_a_token() -> None:
    seen = progress(*[metrics(num_requests_running=0)] * 9)
    assert seen.stalled(asked=False) is None
    assert seen.is_still()
    assert "stalled: a request is not answered, and" in (seen.stalled(asked=True) or "")


@pytest.mark.parametrize(
    "missing",
    [
        "num_requests_running",
        "generation_tokens_total",
        "prompt_tokens_total",
        "gpu_cache_usage_perc",
    ],
)
def test_where_a_metric_is_missing_nobody_can_tell(missing: str) -> None:
    some = {name: value for name, value in metrics().items() if name != f"vllm:{missing}"}
    seen = progress(*[some] * 9)
    assert seen.stalled(asked=True) is None
    assert not seen.is_still()


def test_metrics_that_are_gone_for_a_moment_start_the_count_anew() -> None:
    assert progress(*[metrics()] * 4, {}, *[metrics()] * 4).stalled(asked=False) is None


def test_a_server_that_answered_once_and_then_no_more_is_stalled() -> None:
    why = progress(*[{}] * 5, healthy=False).stalled(asked=False)
    assert why == "stalled: /health has not answered for 75 s"


def test_a_server_that_never_answered_is_loading() -> None:
    seen = Progress(60)
    for _ in range(9):
        seen.see(healthy=False, metrics={}, seconds=15)
    assert seen.stalled(asked=False) is None


SERVER = """
import http.server, signal, sys, time

port, *traits = sys.argv[1:]
if "deaf" in traits:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

class Answer(http.server.BaseHTTPRequestHandler):
    tokens = 0

    def do_GET(self):
        Answer.tokens += "moves" in traits
        self.send_response(200)
        self.end_headers()
        metrics = {
            "num_requests_running": int("idle" not in traits),
            "kv_cache_usage_perc": 0.5,
            "prompt_tokens_total": 7,
            "generation_tokens_total": Answer.tokens,
        }
        for name, value in metrics.items():
            self.wfile.write(f'vllm:{name}{{engine="0"}} {value}\\n'.encode())

    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
        print(self.path, self.headers["Content-Type"], sent, flush=True)
        print("asked with", self.headers["Authorization"], flush=True)
        time.sleep(60 if "hangs" in traits else 0)
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Answer).serve_forever()
"""
"""A stand-in of vLLM's server, whose engine stands still unless it moves."""


class Watched:
    """The stand-in, started by the program as in a container, with short times."""

    def __init__(self, folder: Path, *traits: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.healthy, self.reason, key = folder / "healthy", folder / "reason", folder / "key"
        key.write_text("sesame")
        program = (
            f"from pathlib import Path; from tandem.remote import liveness;"
            f"liveness.CHECK_SECONDS = 0.05; liveness.GRACE_SECONDS = 0.5;"
            f"liveness.HEALTHY = Path({str(self.healthy)!r});"
            f"liveness.REASON = Path({str(self.reason)!r});"
            f"import sys; sys.exit(liveness.main(sys.argv[1:]))"
        )
        options = [f"--url=http://127.0.0.1:{port}", "--timeout=0.5", "--model=m", f"--key={key}"]
        command = [sys.executable, "-c", SERVER, port, *traits]
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *options, "--", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_a_server_that_is_stalled_is_ended_and_the_log_and_the_record_say_why(
    tmp_path: Path,
) -> None:
    with Watched(tmp_path) as server:
        assert server.process.wait(20) == -signal.SIGTERM
        said = (server.process.stderr or sys.stdin).read()
        assert "tandem: stalled: requests running: 1, and nothing has moved for 1 s" in said
        assert server.reason.read_text().startswith("stalled: requests running: 1")
        assert not server.healthy.exists()


def test_a_stalled_server_that_does_not_end_is_killed(tmp_path: Path) -> None:
    with Watched(tmp_path, "deaf") as server:
        assert server.process.wait(20) == -signal.SIGKILL


def test_an_idle_server_that_does_not_answer_a_request_is_ended(tmp_path: Path) -> None:
    with Watched(tmp_path, "idle", "hangs") as server:
        assert server.process.wait(20) == -signal.SIGTERM
        out, said = server.process.communicate()
        question, key = out.splitlines()
        path, kind, sent = question.split(" ", 2)
        assert (path, kind) == ("/v1/chat/completions", "application/json")
        hello = {"role": "user", "content": "Hello"}
        assert json.loads(sent) == {"model": "m", "messages": [hello], "max_tokens": 1}
        assert key == "asked with Bearer sesame"
        assert "a request is not answered, and nothing has moved" in said
        assert "sesame" not in said


@pytest.mark.parametrize("traits", [["moves"], ["idle"]])
def test_a_server_that_works_or_has_nothing_to_do_lives_and_is_healthy(
    traits: list[str], tmp_path: Path
) -> None:
    with Watched(tmp_path, *traits) as server:
        time.sleep(3)
        assert server.process.poll() is None
        assert abs(time.time() - int(server.healthy.read_text())) < 3


def test_the_watch_ends_with_the_server(tmp_path: Path) -> None:
    with Watched(tmp_path, "moves") as server:
        while not server.healthy.exists():
            time.sleep(0.05)
        server.process.terminate()
        # Its end of the pipes closes when the last process that holds them is gone.
        _, said = server.process.communicate(timeout=10)
        assert said == ""


def test_a_check_that_takes_longest_does_not_make_the_server_unhealthy() -> None:
    assert OLDEST_SECONDS >= liveness.CHECK_SECONDS + liveness.LONGEST_CHECK_SECONDS
    assert str(liveness.HEALTHY) == HEALTHY


def test_the_health_check_of_docker_looks_at_the_age_of_the_last_check(tmp_path: Path) -> None:
    command = health_check(settings()).command.replace(HEALTHY, str(tmp_path / "healthy"))

    def is_healthy() -> bool:
        return subprocess.run(["sh", "-c", command], check=False).returncode == 0

    assert not is_healthy()
    (tmp_path / "healthy").write_text(f"{time.time() - 40:.0f}\n")
    assert is_healthy()
    (tmp_path / "healthy").write_text(f"{time.time() - 60:.0f}\n")
    assert not is_healthy()


def test_a_program_that_the_image_does_not_have_is_named(tmp_path: Path) -> None:
    options = ["--url=http://127.0.0.1:9", "--timeout=5", "--", "no-such-program"]
    done = subprocess.run(
        [sys.executable, liveness.__file__, *options],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 127
    assert done.stderr == "tandem: the image has no program no-such-program\n"
