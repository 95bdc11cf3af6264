"""A finding: one problem or warning, where it is in the stack file, and how to mend it."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from tandem.findings.code import Severity
from tandem.findings.declared import CODES


class Finding(BaseModel):
    """One thing to tell the user, in one line.

    A code that is not declared in this package, or not with this severity, is a ValueError.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    code: str
    """Stable name of the rule, e.g. ``gpus-too-few``; tests and scripts match on it."""
    severity: Severity
    path: str
    """Place in the stack file, e.g. ``tandem:hosts[1].address``."""
    message: str
    """What is wrong, with the numbers."""
    fix: str
    """What to write or do instead."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}; {self.fix} [{self.code}]"

    @model_validator(mode="after")
    def _is_declared(self) -> Self:
        if self.code not in CODES or self.severity not in CODES[self.code].severities:
            raise ValueError(f"tandem/findings declares no {self.severity} {self.code}")
        return self


def error(code: str, path: str, message: str, fix: str) -> Finding:
    """Make a finding that stops the deployment."""
    return Finding(code=code, severity=Severity.ERROR, path=path, message=message, fix=fix)


def warning(code: str, path: str, message: str, fix: str) -> Finding:
    """Make a finding that is shown and stops nothing."""
    return Finding(code=code, severity=Severity.WARNING, path=path, message=message, fix=fix)
