"""The question to a server, over a real connection."""

import json
import threading
import time
from pathlib import Path
from typing import Any

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


def test_the_question_is_a_short_chat_that_is_the_same_each_time() -> None:
    asked: list[Any] = []
    with served(chat({"content": "Hello"}), asked=asked) as url:
        ask(url, "model")
    question = {
        "model": "model",
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 64,
        "temperature": 0,
    }
    assert asked == [("application/json", question)]


def test_a_silent_server_is_waited_for_as_long_as_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tandem.remote.ask.POLL_SECONDS", 0.01)
    with served({}) as url:
        started = time.monotonic()
        main(url, "model", "0.3")
    assert 0.3 <= time.monotonic() - started < 20
    assert json.loads(capsys.readouterr().out) == {
        "state": "silent",
        "detail": "HTTP Error 404: Not Found",
    }


def test_a_server_that_comes_in_time_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: dict[str, tuple[int, Any]] = {}
    monkeypatch.setattr("tandem.remote.ask.POLL_SECONDS", 0.01)
    with served(answers) as url:
        later = threading.Timer(0.2, answers.update, [chat({"content": "Hello"})])
        later.start()
        assert ask(url, "model", patience=60)["state"] == "answered"


def test_a_chat_that_breaks_off_has_failed() -> None:
    answers = {"/v1/models": (200, MODELS), "/v1/chat/completions": (200, b"{")}
    with served(answers) as url:
        failed = ask(url, "model")
    assert failed["state"] == "failed"
    assert failed["detail"].startswith("Expecting property name")


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
