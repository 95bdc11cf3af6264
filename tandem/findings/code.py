"""A finding's code: how much it weighs, what it means, and what mends it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """How much a finding weighs: an error stops the deployment, a warning is only shown."""

    ERROR = "error"
    WARNING = "warning"


ERROR = (Severity.ERROR,)
WARNING = (Severity.WARNING,)
EITHER = (Severity.ERROR, Severity.WARNING)
"""An error in some cases, a warning in others; the meaning says which."""


class Code(NamedTuple):
    """One code and all that is said of it, whatever the stack."""

    name: str
    """Stable; tests and scripts match on it."""
    severities: tuple[Severity, ...]
    meaning: str
    """In one or two sentences, as Markdown."""
    fix: str
    """What mends it, as Markdown."""


class Section(NamedTuple):
    """Codes of one kind."""

    title: str
    codes: tuple[Code, ...]
