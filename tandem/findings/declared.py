"""Every code that a finding may have."""

from __future__ import annotations

from tandem.findings import arguments, backends, commands, files, hosts, keys, memory, parallel

SECTIONS = (
    commands.SECTION,
    keys.SECTION,
    arguments.SECTION,
    parallel.SECTION,
    backends.SECTION,
    memory.SECTION,
    hosts.SECTION,
    files.SECTION,
)
"""In the order of docs/findings.md."""

CODES = {code.name: code for section in SECTIONS for code in section.codes}
