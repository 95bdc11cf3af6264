"""How serve.args is read, and that nothing of it is changed on its way into the container."""

import json

import pytest

from tandem.planner.vllm.flags import Flags
from tandem.planner.vllm.words import given
from tests.builders import plan

AWKWARD = [
    '{"method":"mtp","num_speculative_tokens":2}',
    "it's",
    'a "quoted" word',
    "$HOME and ${HOME} and $(id) and `id`",
    'back\\slash \\n \\" \\\\',
    "line\nbreak\ttab",
    "-leading",
    "{{ messages }} {% if x %}",
    "%s %d %%",
    "ümlaut ☃",
    " spaces  around ",
    "",
]


def test_awkward_words_reach_the_command_unchanged() -> None:
    args = [word for value in AWKWARD for word in ("--chat-template", value)]
    command = plan(2, {"serve.args": args}).server.command
    assert command[-len(args) :] == tuple(args)


def test_awkward_words_reach_the_command_of_a_single_host_unchanged() -> None:
    assert plan(1, {"serve.args": AWKWARD}).server.command[-len(AWKWARD) :] == tuple(AWKWARD)


@pytest.mark.parametrize("value", AWKWARD)
def test_an_awkward_value_inside_json_is_one_word(value: str) -> None:
    word = json.dumps({"key": value}, separators=(",", ":"))
    command = plan(1, {"serve.args": ["--hf-overrides", word]}).server.command
    assert json.loads(command[-1]) == {"key": value}


def test_flags_with_their_values_and_places() -> None:
    words = ["--a=1", "x", "--b", "2", "--c", "--d_e", "-1", "-q", "fp8", "--f.g_h", "{}"]
    assert [
        (one.flag, one.key, one.value, one.position, one.value_position) for one in given(words)
    ] == [
        ("--a", "", "1", 0, 0),
        ("--b", "", "2", 2, 3),
        ("--c", "", None, 4, 4),
        ("--d-e", "", "-1", 5, 6),
        ("--quantization", "", "fp8", 7, 8),
        ("--f", "g_h", "{}", 9, 10),
    ]


@pytest.mark.parametrize(
    ("words", "on"),
    [
        (["--x"], True),
        (["--no-x"], False),
        (["--x", "--no-x"], False),
        (["--no-x", "--x"], True),
        (["--x=false"], False),
        (["x"], None),
        ([], None),
    ],
)
def test_the_last_switch_counts(words: list[str], on: bool | None) -> None:
    assert Flags(words).switch("--x") is on


def test_a_flag_is_there_by_its_keys_alone() -> None:
    flags = Flags(["--hf-overrides.rope_theta", "1"])
    assert flags.has("--hf-overrides")
    assert flags.place("--hf-overrides") == "tandem:serve.args[0]"
    assert not flags.has("--other")
    assert flags.place("--other") == "tandem:serve.args"
