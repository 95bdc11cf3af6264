"""Names of parsers and flags against the version of vLLM that the stack runs."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from tandem.findings import Finding, error, warning
from tandem.planner.masking import shown
from tandem.planner.vllm.flags import Flags
from tandem.planner.vllm.releases import (
    declared_version,
    flags_of,
    full_name,
    known_names,
    likely_names,
    names_of,
    spoken,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tandem.planner.vllm.versions import Version
    from tandem.planner.vllm.words import Given
    from tandem.settings import Settings


REASONING = "--enable-reasoning"


class _Parser(NamedTuple):
    flag: str
    plugin: str
    """Flag that loads more parsers, whose names can't be known here."""
    field: str
    """Field of ``Names`` that lists vLLM's own."""


_PARSERS = (
    _Parser("--tool-call-parser", "--tool-parser-plugin", "tool_parsers"),
    _Parser("--reasoning-parser", "--reasoning-parser-plugin", "reasoning_parsers"),
)


def parser_names(settings: Settings) -> Iterator[Finding]:
    """A parser is one that the version knows.

    Source: ``validate_api_server_args``, vllm/entrypoints (vllm#9312, recipes#51): vLLM refuses
    a tool call parser when automatic tool choice is on, a reasoning parser always.
    """
    flags = Flags(settings.serve.args)
    for parser in _PARSERS:
        for one in flags.given:
            if one.flag == parser.flag and one.value and not flags.has(parser.plugin):
                yield from _parser(settings, parser, one, one.value)


def removed_reasoning(settings: Settings) -> Iterator[Finding]:
    """``--enable-reasoning`` is gone; the parser alone switches it on (vllm#18538)."""
    first = min(known_names())
    for one in Flags(settings.serve.args).given:
        if one.flag == REASONING:
            version = declared_version(settings)
            tell = error if version and version >= first else warning
            yield tell(
                "flag-removed",
                one.path,
                f"{REASONING} was removed before vLLM {spoken(first)}",
                "remove it; --reasoning-parser alone is enough",
            )


def flag_names(settings: Settings) -> Iterator[Finding]:
    """A flag is one that the version knows.

    A warning only, as platforms and plugins may add flags of their own.
    """
    if settings.image.entrypoint != "vllm":
        return
    version = declared_version(settings)
    known = flags_of(version)
    for one in Flags(settings.serve.args).given:
        if one.flag != REASONING and not _is_known(one.flag, known):
            yield warning(
                "unknown-flag",
                one.path,
                _unknown(version, f"flag {shown(one.flag)}"),
                _nearest(one.flag, known),
            )


def _parser(settings: Settings, parser: _Parser, one: Given, name: str) -> Iterator[Finding]:
    version = declared_version(settings)
    known = frozenset().union(*(getattr(names, parser.field) for names in likely_names(version)))
    if name in known:
        return
    flags = Flags(settings.serve.args)
    is_used = parser.field != "tool_parsers" or flags.has("--enable-auto-tool-choice")
    tell = error if is_used and names_of(version) else warning
    yield tell(
        "unknown-parser",
        one.value_path,
        _unknown(version, f'{parser.flag} "{shown(name)}"'),
        _nearest(name, known),
    )


def _unknown(version: Version | None, what: str) -> str:
    if version is not None and names_of(version):
        return f"vLLM {spoken(version)} has no {what}"
    first, last = spoken(min(known_names())), spoken(max(known_names()))
    return f"no release of vLLM from {first} to {last} has {what}"


def _is_known(flag: str, known: frozenset[str]) -> bool:
    """Tell whether argparse takes a flag: as it is, negated, or as an unambiguous beginning.

    ``-O3`` and ``-O.level`` are levels of ``--compilation-config``
    (``FlexibleArgumentParser``, vllm/utils/argparse_utils.py).
    """
    positive = "--" + flag.removeprefix("--no-") if flag.startswith("--no-") else flag
    return flag.startswith("-O") or positive in known or full_name(flag, known) in known


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    if not close:
        return "correct the name, or set image.vllm to the version in the image"
    *others, last = (f'"{each}"' for each in close)
    return f"did you mean {', '.join(others) + ' or ' if others else ''}{last}?"
