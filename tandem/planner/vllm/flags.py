"""What the words of ``serve.args`` say: is a flag set, and to what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tandem.planner.vllm.words import ARGS, given

if TYPE_CHECKING:
    from collections.abc import Sequence


class Flags:
    """The arguments of ``vllm serve``, as its parser would read them.

    ``--flag value`` and ``--flag=value`` are the same, underscores are dashes, ``--no-flag``
    switches off, and the last one counts.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.given = given(words)
        """Every flag in its order, with its place."""
        self._found: dict[str, str | None] = {}
        self._inner: dict[str, dict[str, Any]] = {}
        for one in self.given:
            if one.key:  # --speculative-config.method mtp
                self._inner.setdefault(one.flag, {})[one.key] = _json(one.value)
            elif one.flag.startswith("--no-"):
                self._found[f"--{one.flag.removeprefix('--no-')}"] = "false"
            else:
                self._found[one.flag] = one.value

    def has(self, flag: str) -> bool:
        """Tell whether a flag is there and not switched off again, with a value or without."""
        return flag in self._inner or bool(self.switch(flag))

    def place(self, flag: str) -> str:
        """Return the place of a flag's last occurrence in the stack file, or that of all."""
        return next((one.path for one in reversed(self.given) if one.flag == flag), ARGS)

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


def _json(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError):
        return text
