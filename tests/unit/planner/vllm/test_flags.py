"""What serve.args say, as vLLM's parser would read them."""

from __future__ import annotations

import pytest

from tandem.planner.vllm.flags import Flags


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ([], None),
        (["--enable-prefix-caching"], True),
        (["--enable_prefix_caching"], True),
        (["--no-enable-prefix-caching"], False),
        (["--enable-prefix-caching=false"], False),
        (["--enable-prefix-caching", "--no-enable-prefix-caching"], False),
        (["--no-enable-prefix-caching", "--enable-prefix-caching", "--seed", "1"], True),
        (["--other", "--enable-prefix-caching"], True),
    ],
)
def test_switches(words: list[str], state: bool | None) -> None:
    assert Flags(words).switch("--enable-prefix-caching") is state


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (["--load-format", "dummy"], "dummy"),
        (["--load-format=dummy"], "dummy"),
        (["--load_format", "dummy"], "dummy"),
        (["--load-format", "auto", "--load-format", "dummy"], "dummy"),
        (["--load-format", "--other"], None),
        (["--load-format"], None),
    ],
)
def test_values(words: list[str], value: str | None) -> None:
    assert Flags(words).text("--load-format") == value


@pytest.mark.parametrize(
    ("word", "number"), [("8", 8), ("-1", None), ("x", None), ("", None), ("9" * 99, None)]
)
def test_numbers(word: str, number: int | None) -> None:
    assert Flags(["--block-size", word]).number("--block-size") == number


@pytest.mark.parametrize(
    "words",
    [
        ["--speculative-config", '{"method":"mtp","num_speculative_tokens":2}'],
        ['--speculative-config={"method":"mtp","num_speculative_tokens":2}'],
        ["-sc", '{"method":"mtp","num_speculative_tokens":2}'],
        ["--speculative-config.method", "mtp", "--speculative_config.num_speculative_tokens", "2"],
    ],
)
def test_objects(words: list[str]) -> None:
    found = Flags(words).object("--speculative-config")
    assert found == {"method": "mtp", "num_speculative_tokens": 2}


@pytest.mark.parametrize("text", ["{", "[1]", "3", ""])
def test_what_is_no_object_is_none(text: str) -> None:
    assert Flags(["--speculative-config", text]).object("--speculative-config") is None
