"""The stand-in for Ray and vLLM keeps to what Tandem knows of the real ones."""

from __future__ import annotations

import contextlib
import json
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING
from urllib.error import HTTPError

import pytest

from lab.stand_in import ray_command, ray_module, vllm_command
from lab.stand_in.api import Api, Served
from lab.stand_in.engine import Engine
from lab.stand_in.session import Head, Node, SessionLost, alive, attend, listen
from tandem.planner.arguments import ARGUMENTS, serve_arguments
from tandem.remote.ray_contract import alive_nodes
from tests.builders import plan, settings
from tests.unit.planner.test_arguments import GIVEN

if TYPE_CHECKING:
    from tandem.planner.arguments import Argument

KEY = "a-key"
EVERYTHING = {"image.vllm": "0.33.0", **{key: value for key, (value, _, _) in GIVEN.items()}}
"""What sets every argument of ``vllm serve`` that Tandem knows."""


@pytest.fixture
def head() -> Iterator[Head]:
    with Head(("127.0.0.1", 0), Node("127.0.0.1", 1, listen("127.0.0.1"))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def api() -> Iterator[Api]:
    served = Served("tiny", 512, has_reasoning=True, key=KEY)
    with Api(("127.0.0.1", 0), Engine(8), served) as server:
        server.server_activate()
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_node_is_alive_until_its_connection_ends(head: Head) -> None:
    address = f"127.0.0.1:{head.server_address[1]}"
    seen: list[int] = []

    def twice(nodes: list[Node]) -> bool:
        seen.append(len(nodes))
        return len(seen) < 2

    attend(address, Node("10.0.0.2", 2, 0), twice)
    assert seen == [2, 2]
    _until(lambda: [node.address for node in alive(address)] == ["127.0.0.1"])


def test_a_node_whose_head_ends_hears_of_it(head: Head) -> None:
    address = f"127.0.0.1:{head.server_address[1]}"
    head.shutdown()
    head.server_close()
    with pytest.raises(SessionLost, match="no head at"):
        attend(address, Node("10.0.0.2", 1, 0), lambda _: True)


def test_the_join_contract_reads_its_nodes(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", ray_module)
    assert alive_nodes(f"127.0.0.1:{head.server_address[1]}") == {"127.0.0.1": [1]}
    ray_module.shutdown()


def test_the_api_asks_for_the_key_and_answers_with_reasoning(api: Api) -> None:
    with pytest.raises(HTTPError, match="401"):
        _ask(api, "/v1/models", key="")
    (model,) = json.loads(_ask(api, "/v1/models"))["data"]
    assert (model["id"], model["max_model_len"]) == ("tiny", 512)
    answer = json.loads(_chat(api, "Hello", tokens=3))
    assert answer["choices"][0]["message"]["reasoning"]
    assert answer["usage"]["completion_tokens"] == 3
    assert _metric(api, "generation_tokens_total") == 3
    assert _metric(api, "num_requests_running") == 0


def test_a_hanging_engine_has_requests_and_no_tokens_while_health_answers(api: Api) -> None:
    for prompt, count in (("hang", "running"), ("Hello", "waiting")):
        Thread(target=_chat_in_vain, args=(api, prompt), daemon=True).start()
        _until(partial(lambda name: _metric(api, name) == 1, f"num_requests_{count}"))
    time.sleep(0.1)
    tokens = _metric(api, "generation_tokens_total")
    time.sleep(0.3)
    assert _metric(api, "generation_tokens_total") == tokens
    assert _ask(api, "/health", key="") == ""


def test_an_unknown_flag_is_refused_in_the_words_of_vllm(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        vllm_command.main(["serve", "/model", "--no-such-flag"])
    assert ended.value.code == 2
    assert "unrecognized arguments: --no-such-flag" in capsys.readouterr().err


@pytest.mark.parametrize("argument", ARGUMENTS, ids=lambda argument: argument.flag)
def test_vllm_takes_every_argument_that_tandem_sets(argument: Argument) -> None:
    declared = settings(2, EVERYTHING)
    options = vllm_command.command_line().parse_args(["serve", *serve_arguments(declared)])
    taken = getattr(options, argument.flag.removeprefix("--").replace("-", "_"))
    assert taken is not None
    assert str(taken) == str(argument.value(declared))


def test_vllm_takes_short_names_for_the_long_ones() -> None:
    parser = vllm_command.command_line()
    names = [(one.short, one.flag) for one in ARGUMENTS if one.short is not None]
    assert names
    for both in names:
        short, long = (parser.parse_args(["serve", "/model", name, "7"]) for name in both)
        assert short == long


def test_ray_takes_every_argument_that_tandem_sets() -> None:
    head, worker, _ = plan(2).containers
    parser = ray_command.command_line()
    first, second = (vars(parser.parse_args(spec.command)) for spec in (head, worker))
    node = {"block": True, "num_gpus": 1, "disable_usage_stats": True}
    ours = {"head": True, "node_ip_address": "10.0.0.1", "include_dashboard": "false"}
    assert first == {**node, **ours, "address": None, "port": 6379}
    theirs = {"head": False, "node_ip_address": "10.0.0.2", "include_dashboard": None}
    assert second == {**node, **theirs, "address": "10.0.0.1:6379", "port": 6379}


def _ask(api: Api, path: str, body: object = None, key: str = KEY) -> str:
    url = f"http://127.0.0.1:{api.server_address[1]}{path}"
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(url, data, {"Authorization": f"Bearer {key}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=10) as answer:
        text: str = answer.read().decode()
    return text


def _chat(api: Api, prompt: str, tokens: int = 50) -> str:
    messages = [{"role": "user", "content": prompt}]
    body = {"model": "tiny", "messages": messages, "max_tokens": tokens}
    return _ask(api, "/v1/chat/completions", body)


def _chat_in_vain(api: Api, prompt: str) -> None:
    with contextlib.suppress(OSError):
        _chat(api, prompt)


def _metric(api: Api, name: str) -> float:
    lines = _ask(api, "/metrics").splitlines()
    (line,) = [line for line in lines if line.startswith(f"vllm:{name}{{")]
    return float(line.split()[-1])


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)
