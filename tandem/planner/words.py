"""What ``serve.args`` says: which flags are there, with which values, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import Settings

ARGS = "tandem:serve.args"

_FLAG = re.compile(r"(--?[A-Za-z][^=\s]*)(?:=(.*))?", re.DOTALL)
"""A flag, with its value when that is in the same word; ``-1`` is a value."""

_OFF = "--no-"


@dataclass(frozen=True)
class Given:
    """One flag in ``serve.args``."""

    flag: str
    """With dashes, as vLLM reads underscores too; without ``.key`` of a dotted flag."""
    key: str
    """What follows the dot of ``--flag.key``, else empty."""
    index: int
    """Position of the flag among the words."""
    value: str | None
    """In the same word after ``=``, or the next word when that is no flag."""
    value_index: int
    """Position of the value; that of the flag when both are one word."""

    @property
    def path(self) -> str:
        """Return the flag's place in the stack file."""
        return f"{ARGS}[{self.index}]"

    @property
    def value_path(self) -> str:
        """Return the value's place in the stack file."""
        return f"{ARGS}[{self.value_index}]"


def given(settings: Settings) -> tuple[Given, ...]:
    """Return the flags in their order."""
    return tuple(_read(settings.serve.args))


def is_set(settings: Settings, *names: str) -> bool:
    """Tell whether a flag is there and not switched off again; names are forms of one flag."""
    found = _last(settings, names)
    return found is not None and not found.flag.startswith(_OFF)


def is_off(settings: Settings, *names: str) -> bool:
    """Tell whether a flag is switched off with its ``--no-`` form."""
    found = _last(settings, names)
    return found is not None and found.flag.startswith(_OFF)


def value_of(settings: Settings, *names: str) -> str | None:
    """Return the value of a flag's last occurrence, or None."""
    found = _last(settings, names)
    return found.value if found else None


def place_of(settings: Settings, *names: str) -> str:
    """Return the place of a flag's last occurrence in the stack file."""
    found = _last(settings, names)
    return found.path if found else ARGS


def _last(settings: Settings, names: tuple[str, ...]) -> Given | None:
    forms = {*names, *(_OFF + name.removeprefix("--") for name in names)}
    return next((one for one in reversed(given(settings)) if one.flag in forms), None)


def _read(words: tuple[str, ...]) -> Iterator[Given]:
    for index, word in enumerate(words):
        match = _FLAG.fullmatch(word)
        if match is None:
            continue
        name, value, value_index = match[1], match[2], index
        following = words[index + 1 : index + 2]
        if value is None and following and not _FLAG.fullmatch(following[0]):
            value, value_index = following[0], index + 1
        flag, _, key = name.partition(".")
        yield Given(_dashed(flag), key, index, value, value_index)


def _dashed(flag: str) -> str:
    """Return a flag as vLLM knows it; short ones have no underscores to replace."""
    return flag.replace("_", "-") if flag.startswith("--") else flag
