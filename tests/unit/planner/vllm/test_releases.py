"""Which version a stack runs, and what was read of vLLM's releases."""

from typing import Any

import pytest

from tandem.planner.vllm.releases import declared_version, known_names, names_of
from tests.builders import DIGEST, settings


@pytest.mark.parametrize(
    ("changes", "version"),
    [
        ({"image.vllm": "0.19.1"}, (0, 19)),
        ({"image.vllm": "0.32.0rc1+cu130"}, (0, 32)),
        ({"image.reference": "vllm/vllm-openai:v0.11.2"}, (0, 11)),
        ({"image.reference": f"mirror.example/vllm/vllm-openai:v0.9@{DIGEST}"}, (0, 9)),
        (
            {"image.reference": "host:5000/vllm/vllm-openai:v0.11.2", "image.vllm": "0.12.0"},
            (0, 12),
        ),
        ({"image.reference": "vllm/vllm-openai:latest"}, None),
        ({"image.reference": f"vllm/vllm-openai@{DIGEST}"}, None),
        ({"image.reference": "other/vllm-openai:v0.11.2"}, None),
        ({}, None),
    ],
)
def test_version(changes: dict[str, Any], version: tuple[int, int] | None) -> None:
    assert declared_version(settings(1, changes)) == version


@pytest.mark.parametrize(
    ("version", "tool_parsers", "reasoning_parsers"),
    [((0, 11), 27, 15), ((0, 19), 34, 19), ((0, 32), 54, 38)],
)
def test_as_many_parsers_as_vllm_registers(
    version: tuple[int, int], tool_parsers: int, reasoning_parsers: int
) -> None:
    names = names_of(version)
    assert names is not None
    assert (len(names.tool_parsers), len(names.reasoning_parsers)) == (
        tool_parsers,
        reasoning_parsers,
    )


def test_every_minor_release_from_the_first_to_the_last_was_read() -> None:
    assert list(known_names()) == [(0, minor) for minor in range(10, 34)]


def test_every_release_has_the_flags_that_tandem_writes() -> None:
    written = {"--served-model-name", "--host", "--port", "--tensor-parallel-size"}
    written |= {"--pipeline-parallel-size", "--distributed-executor-backend", "--max-model-len"}
    written |= {"--max-num-seqs", "--max-num-batched-tokens", "--gpu-memory-utilization"}
    written |= {"--kv-cache-dtype"}
    assert {v: written - names.flags for v, names in known_names().items()} == {
        v: set() for v in known_names()
    }


@pytest.mark.parametrize("version", [(0, 9), (0, 99), None])
def test_nothing_is_known_of_other_releases(version: tuple[int, int] | None) -> None:
    assert names_of(version) is None
