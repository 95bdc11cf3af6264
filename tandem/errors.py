"""The exceptions that Tandem raises on purpose.

TandemError
├── InvalidStack      the stack file does not say what can be built; carries findings
├── RefusedPlan       the declaration cannot work on these hosts; carries findings
├── HubFailed         the Hub does not tell of a model
├── UnreadableConfig  a config.json does not say what every model has to say
└── GateFailed        what a gate waits for did not come true in time, or cannot any more
    └── WeightsDiffer a host has other files of the model than the manifest
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tandem.findings import Finding


class TandemError(Exception):
    """The root of everything that Tandem raises on purpose; its text is meant for the user."""


class FindingsError(TandemError):
    """An error made of findings, shown one line each."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in self.findings))


class InvalidStack(FindingsError):
    """The stack file holds a key or a value that the settings do not accept."""


class RefusedPlan(FindingsError):
    """The stack file is well formed, but what it declares cannot work."""


class UnreadableConfig(TandemError):
    """A model's config.json lacks a key that every model has, or holds no usable value for it."""


class HubFailed(TandemError):
    """The Hub does not tell of a model; the text says why."""


class GateFailed(TandemError):
    """A gate gave up: its deadline passed, or what it waits for can no longer happen."""


class WeightsDiffer(GateFailed):
    """A file of the model is wrong, missing or extra on a host; one line for each.

    ``files`` are the names of all of them by host.
    """

    def __init__(
        self, text: str, lines: Iterable[str] = (), files: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.lines = tuple(lines)
        self.files = files or {}
        super().__init__(text)
