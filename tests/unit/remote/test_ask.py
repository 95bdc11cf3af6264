"""The question to a server, over a real connection."""

import json
from pathlib import Path

import pytest

from tandem.remote.ask import ask, main
from tests.api import MODELS, chat, served


def test_a_chat_is_answered() -> None:
    with served(chat({"content": "Hello", "reasoning": "They greet."})) as url:
        assert ask(url, "model") == {
            "state": "answered",
            "content": "Hello",
            "reasoning": "They greet.",
        }


def test_the_key_is_sent_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "api-key"
    file.write_text("sesame")
    with served(chat({"content": "Hello"}), key="sesame") as url:
        assert ask(url, "model")["state"] == "silent"
        main(url, "model", "0", str(file))
    said = capsys.readouterr().out
    assert json.loads(said)["state"] == "answered"
    assert "sesame" not in said


def test_older_images_name_the_reasoning_otherwise() -> None:
    with served(chat({"content": None, "reasoning_content": "Hm."})) as url:
        assert ask(url, "model") == {"state": "answered", "content": "", "reasoning": "Hm."}


def test_an_answer_without_reasoning() -> None:
    with served(chat({"content": "Hello", "reasoning": None})) as url:
        assert ask(url, "model")["reasoning"] == ""


def test_another_model_is_named() -> None:
    with served({"/v1/models": (200, MODELS)}) as url:
        assert ask(url, "mine") == {"state": "other-model", "detail": "model, other"}


def test_a_chat_that_fails_gives_the_servers_own_words() -> None:
    answers = {"/v1/models": (200, MODELS), "/v1/chat/completions": (500, b"out of memory")}
    with served(answers) as url:
        assert ask(url, "model") == {"state": "failed", "detail": "out of memory"}


def test_a_server_that_is_not_there_is_silent() -> None:
    with served({}) as url:
        pass
    assert ask(url, "model")["state"] == "silent"


def test_a_server_that_is_not_ready_is_silent() -> None:
    with served({"/v1/models": (503, b"")}) as url:
        assert ask(url, "model")["state"] == "silent"
    with served({"/v1/models": (200, b"<html>")}) as url:
        assert ask(url, "model")["state"] == "silent"


def test_a_proxy_of_the_container_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with served(chat({"content": "Hello"})) as url:
        assert ask(url, "model")["state"] == "answered"
