"""Names of parsers and flags against the release of vLLM that the stack runs."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, NamedTuple

from tandem.findings import Finding, error, warning
from tandem.planner.masking import masked
from tandem.planner.releases import Names, declared_release, known_names, names_of
from tandem.planner.words import Given, given, is_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tandem.planner.releases import Release
    from tandem.settings import Settings


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
    """A parser is one that the release knows.

    Source: ``validate_api_server_args``, vllm/entrypoints (vllm#9312, recipes#51): vLLM refuses
    a tool call parser when automatic tool choice is on, a reasoning parser always.
    """
    for parser in _PARSERS:
        for one in given(settings):
            if one.flag == parser.flag and one.value and not is_set(settings, parser.plugin):
                yield from _parser(settings, parser, one, one.value)


def removed_reasoning(settings: Settings) -> Iterator[Finding]:
    """``--enable-reasoning`` is gone since 0.10; the parser alone switches it on (vllm#18538)."""
    for one in given(settings):
        if one.flag == "--enable-reasoning":
            release = declared_release(settings)
            known = release is None or release >= min(known_names())
            yield (error if release and known else warning)(
                "flag-removed",
                one.path,
                f"--enable-reasoning was removed before vLLM {min(known_names())}",
                "remove it; --reasoning-parser alone is enough",
            )


def flag_names(settings: Settings) -> Iterator[Finding]:
    """A flag is one that the release knows.

    A warning only, as platforms and plugins may add flags of their own.
    """
    if settings.image.entrypoint != "vllm":
        return
    for one in given(settings):
        release = declared_release(settings)
        known = _known(release, lambda names: names.flags)
        if _is_known(one.flag, known) or one.flag == "--enable-reasoning":
            continue
        yield warning(
            "unknown-flag",
            one.path,
            _unknown(release, f"flag {masked(one.flag)}"),
            _nearest(one.flag, known),
        )


def _parser(settings: Settings, parser: _Parser, one: Given, name: str) -> Iterator[Finding]:
    release = declared_release(settings)
    known = _known(release, lambda names: getattr(names, parser.field))
    if name in known:
        return
    is_used = parser.flag != "--tool-call-parser" or is_set(settings, "--enable-auto-tool-choice")
    tell = error if is_used and names_of(release) else warning
    yield tell(
        "unknown-parser",
        one.value_path,
        _unknown(release, f'{parser.flag} "{masked(name)}"'),
        _nearest(name, known),
    )


def _known(release: Release | None, select: Callable[[Names], frozenset[str]]) -> frozenset[str]:
    """Return the names of a release, or those of all when it is not one that was read."""
    names = names_of(release)
    return frozenset().union(*map(select, [names] if names else known_names().values()))


def _unknown(release: Release | None, what: str) -> str:
    if names_of(release):
        return f"vLLM {release} has no {what}"
    return f"no release of vLLM from {min(known_names())} to {max(known_names())} has {what}"


def _is_known(flag: str, known: frozenset[str]) -> bool:
    """Tell whether argparse takes a flag: as it is, negated, or as an unambiguous beginning.

    ``-O3`` and ``-O.level`` are levels of ``--compilation-config``
    (``FlexibleArgumentParser``, vllm/utils/argparse_utils.py).
    """
    positive = "--" + flag.removeprefix("--no-") if flag.startswith("--no-") else flag
    if flag.startswith("-O") or {flag, positive} & known:
        return True
    return flag.startswith("--") and sum(name.startswith(flag) for name in known) == 1


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    if not close:
        return "correct the name, or set image.vllm to the version in the image"
    *others, last = (f'"{each}"' for each in close)
    return f"did you mean {', '.join(others) + ' or ' if others else ''}{last}?"
