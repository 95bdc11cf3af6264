"""The reference of the codes, as docs/findings.md holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings.declared import SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.findings.code import Code, Section

_HEAD = """\
# Findings

Written by `python -m tandem findings` from `tandem/findings`; change them there.

A finding is one line: its place in the stack file; what is wrong, with the numbers; what to do; and its code.
An error stops the deployment before anything is changed, a warning is only shown.
Codes stay as they are: scripts can match on them. `--json` has them, too.
"""  # noqa: E501

_TABLE = """\
| Code | Severity | Meaning | What mends it |
|---|---|---|---|
"""


def reference() -> str:
    """Return a Markdown page with a row for each code."""
    return _HEAD + "".join(f"\n{_section(section)}" for section in SECTIONS)


def _section(section: Section) -> str:
    rows = "".join(f"{row}\n" for row in _rows(section.codes))
    return f"## {section.title}\n\n{_TABLE}{rows}"


def _rows(codes: tuple[Code, ...]) -> Iterator[str]:
    for code in codes:
        severity = " or ".join(code.severities)
        yield f"| `{code.name}` | {severity} | {code.meaning} | {code.fix} |"
