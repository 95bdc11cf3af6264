"""What Pulumi's engine knows of a stack: its outputs, and what a refresh would change."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

from tandem.errors import TandemError
from tandem.ssh import last_line
from tandem.survey.base import FactsModel

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_CHANGES_EXPECTED = 7
"""Pulumi's exit status when --expect-no-changes found some."""

# Of one of the diagnostics in the engine's JSON.
_MESSAGE = r'"message": ("(?:[^"\\]|\\.)*"),\s*"severity": "error"'


class EngineFailed(TandemError):
    """Pulumi could not tell; the text is its own."""


class Changed(FactsModel):
    """A property of a resource that is not as the state has it."""

    resource: str
    property: str | None
    """None when the whole resource is gone."""
    declared: str
    found: str


def outputs(stack: str) -> dict[str, Any]:
    """Return the stack's outputs, secrets left out.

    Raises EngineFailed when there is no such stack.
    """
    done = _pulumi("stack", "output", "--json", "--stack", stack)
    if done.returncode != 0:
        raise EngineFailed(_words(done))
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def refresh(stack: str) -> tuple[Changed, ...]:
    """Return what a refresh would change. Nothing is changed.

    Raises EngineFailed when the engine could not look, e.g. since a host does not answer.
    """
    words = ("refresh", "--preview-only", "--expect-no-changes", "--json", "--stack", stack)
    done = _pulumi(*words)
    if done.returncode not in (0, NO_CHANGES_EXPECTED):
        raise EngineFailed(_words(done))
    start = done.stdout.index("{")
    steps = json.JSONDecoder().raw_decode(done.stdout[start:])[0]["steps"]
    return tuple(change for step in steps for change in _changes(step))


def _changes(step: dict[str, Any]) -> Iterator[Changed]:
    name = step["urn"].rpartition("::")[2]
    if step["op"] == "delete":
        yield Changed(resource=name, property=None, declared="there", found="gone")
    if step["op"] != "update":
        return
    before, after = step["oldState"]["outputs"], step["newState"]["outputs"]
    for key in step.get("diffReasons") or ():
        declared, found = json.dumps(before.get(key)), json.dumps(after.get(key))
        yield Changed(resource=name, property=key, declared=declared, found=found)


def _pulumi(*words: str) -> subprocess.CompletedProcess[str]:
    command = ["pulumi", "--non-interactive", "--color=never", *words]
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError:
        raise EngineFailed("there is no pulumi on PATH; write `tools/run` before it") from None


def _words(done: subprocess.CompletedProcess[str]) -> str:
    """Return the engine's reason: the first error of its JSON, or its last line of error."""
    for message in re.findall(_MESSAGE, done.stdout):
        words = str(json.loads(message)).strip()
        if words:
            return last_line(words).strip()
    lines = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()]
    return last_line("\n".join(lines)).strip() or f"pulumi ended with status {done.returncode}"
