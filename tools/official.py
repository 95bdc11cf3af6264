"""The official tool chain: an installed Pulumi CLI with the official plugins."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.layout import Layout
from tools.pieces import PLUGIN_VERSIONS
from tools.process import bounded

# Since 3.238 a failing resource hook fails the deployment.
MINIMUM_VERSION = (3, 238)

_ANSWER_SECONDS = 60.0
_DOWNLOAD_SECONDS = 300.0


@dataclass(frozen=True)
class Verdict:
    """Whether the official tool chain can be used, and the reason in one line."""

    usable: bool
    reason: str


def find(layout: Layout, env: Mapping[str, str]) -> Path | None:
    """Return the Pulumi CLI on PATH, which the one built by this clone is not."""
    folders = env.get("PATH", os.defpath).split(os.pathsep)
    others = [folder for folder in folders if Path(folder).resolve() != layout.programs.resolve()]
    program = shutil.which("pulumi", path=os.pathsep.join(others))
    return Path(program) if program else None


def version(pulumi: Path, env: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the CLI's version as numbers, None when it does not tell."""
    answer = bounded([str(pulumi), "version"], _ANSWER_SECONDS, env)
    match = re.search(r"^v?(\d+)\.(\d+)\.(\d+)", answer.output, re.MULTILINE) if answer.ok else None
    return tuple(int(number) for number in match.groups()) if match else None


def prepare(layout: Layout, env: Mapping[str, str]) -> Verdict:
    """Look for the official CLI and have it install the official plugins into its own home."""
    pulumi = find(layout, env)
    if pulumi is None:
        return Verdict(False, "no Pulumi CLI on PATH")
    quiet = {**env, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    found = version(pulumi, quiet)
    if found is None:
        return Verdict(False, f"{pulumi} does not tell its version")
    spelled = ".".join(map(str, found))
    if found[:2] < MINIMUM_VERSION:
        return Verdict(
            False, f"{pulumi} is {spelled}, {'.'.join(map(str, MINIMUM_VERSION))} is needed"
        )
    present = _plugins(pulumi, quiet)
    for name, wanted in PLUGIN_VERSIONS.items():
        if (name, wanted) in present:
            continue
        command = [str(pulumi), "plugin", "install", "resource", name, wanted]
        answer = bounded(command, _DOWNLOAD_SECONDS, quiet)
        if not answer.ok:
            last = (answer.output.strip().splitlines() or ["no output"])[-1]
            return Verdict(False, f"the official {name} plugin {wanted} cannot be had: {last}")
    return Verdict(True, f"Pulumi {spelled} at {pulumi}")


def _plugins(pulumi: Path, env: Mapping[str, str]) -> set[tuple[str, str]]:
    answer = bounded([str(pulumi), "plugin", "ls", "--json"], _ANSWER_SECONDS, env)
    if not answer.ok:
        return set()
    try:
        listed = json.loads(answer.output)
    except ValueError:
        return set()
    return {(plugin.get("name", ""), plugin.get("version", "")) for plugin in listed}
