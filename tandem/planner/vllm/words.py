"""The words of ``serve.args`` one by one: which are flags, which are values, and where they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ARGS = "tandem:serve.args"

SHORT = {
    "-ac": "--attention-config",
    "-asc": "--api-server-count",
    "-cc": "--compilation-config",
    "-dc": "--diffusion-config",
    "-dcp": "--decode-context-parallel-size",
    "-dp": "--data-parallel-size",
    "-dpa": "--data-parallel-address",
    "-dpb": "--data-parallel-backend",
    "-dpe": "--data-parallel-external-lb",
    "-dph": "--data-parallel-hybrid-lb",
    "-dpl": "--data-parallel-size-local",
    "-dpm": "--data-parallel-multi-port-external-lb",
    "-dpn": "--data-parallel-rank",
    "-dpp": "--data-parallel-rpc-port",
    "-dpr": "--data-parallel-start-rank",
    "-ep": "--enable-expert-parallel",
    "-n": "--nnodes",
    "-q": "--quantization",
    "-r": "--node-rank",
    "-sc": "--speculative-config",
}
"""Short names and what they stand for (vllm/engine/arg_utils.py, 0.32.0)."""

_FLAG = re.compile(r"(--?[A-Za-z][^=\s]*)(?:=(.*))?", re.DOTALL)
"""A flag, with its value when that is in the same word; ``-1`` is a value."""


@dataclass(frozen=True)
class Given:
    """One flag in ``serve.args``."""

    flag: str
    """Its long name with dashes, as vLLM reads underscores too; without a key after a dot."""
    key: str
    """What follows the dot of ``--flag.key``, with underscores, else empty."""
    value: str | None
    """In the same word after ``=``, or the next word when that is no flag."""
    position: int
    """Position of the flag among the words."""
    value_position: int
    """Position of the value; that of the flag when both are one word."""

    @property
    def path(self) -> str:
        """Return the flag's place in the stack file."""
        return f"{ARGS}[{self.position}]"

    @property
    def value_path(self) -> str:
        """Return the value's place in the stack file."""
        return f"{ARGS}[{self.value_position}]"


def given(words: Sequence[str]) -> tuple[Given, ...]:
    """Return the flags in their order."""
    return tuple(_read(words))


def _read(words: Sequence[str]) -> Iterator[Given]:
    for position, word in enumerate(words):
        match = _FLAG.fullmatch(word)
        if match is None:
            continue
        name, value, value_position = match[1], match[2], position
        following = words[position + 1 : position + 2]
        if value is None and following and not _FLAG.fullmatch(following[0]):
            value, value_position = following[0], position + 1
        flag, _, key = name.partition(".")
        yield Given(_long(flag), key.replace("-", "_"), value, position, value_position)


def _long(flag: str) -> str:
    return flag.replace("_", "-") if flag.startswith("--") else SHORT.get(flag, flag)
