"""What the words of ``serve.args`` say: is a flag set, and to what."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SHORT = {
    "-sc": "--speculative-config",
    "-cc": "--compilation-config",
    "-dcp": "--decode-context-parallel-size",
    "-dp": "--data-parallel-size",
    "-ep": "--enable-expert-parallel",
    "-q": "--quantization",
}
"""Short names and what they stand for (vllm/engine/arg_utils.py, 0.32.0)."""


class Flags:
    """The arguments of ``vllm serve``, as its parser would read them.

    ``--flag value`` and ``--flag=value`` are the same, underscores are dashes, ``--no-flag``
    switches off, and the last one counts.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._found: dict[str, str | None] = {}
        self._inner: dict[str, dict[str, Any]] = {}
        for name, value in _pairs(words):
            if "." in name:  # --speculative-config.method mtp
                flag, _, key = name.partition(".")
                self._inner.setdefault(flag, {})[key] = _json(value)
            elif name.startswith("--no-"):
                self._found[f"--{name.removeprefix('--no-')}"] = "false"
            else:
                self._found[name] = value

    def switch(self, flag: str) -> bool | None:
        """Return whether a switch is on or off, or None when nothing is said of it."""
        if flag not in self._found:
            return None
        return (self._found[flag] or "true").lower() not in {"false", "0"}

    def text(self, flag: str) -> str | None:
        """Return a flag's value, or None when it is not set or has none."""
        return self._found.get(flag)

    def number(self, flag: str) -> int | None:
        """Return a flag's value from 1, or None when it is not set or no such number."""
        value = self._found.get(flag) or ""
        return int(value) if value.isascii() and value.isdigit() and 0 < len(value) < 16 else None

    def object(self, flag: str) -> dict[str, Any] | None:
        """Return a flag's JSON object, or None when it is not set or can't be read."""
        inner = self._inner.get(flag)
        value = _json(self._found.get(flag))
        if not isinstance(value, dict):
            return inner
        return {**value, **(inner or {})}


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Yield each flag with the word that follows it, unless that is a flag itself."""
    for word, following in zip_longest(words, words[1:]):
        if not word.startswith("-") or _is_number(word):
            continue
        name, equals, value = word.partition("=")
        flag, dot, key = SHORT.get(name, name).partition(".")
        name = flag.replace("_", "-") + dot + key.replace("-", "_")
        if equals:
            yield name, value
        elif following is None or (following.startswith("-") and not _is_number(following)):
            yield name, None
        else:
            yield name, following


def _is_number(word: str) -> bool:
    return word[1:2].isdigit()


def _json(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        return text
