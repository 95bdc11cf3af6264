"""The weights gate: every host has exactly the files of the model's manifest.

Where there is no manifest it is made from the first host's files, once (tandem/gates/manifest.py).
With files from the Hub it is what the Hub says of the commit, and what a host lacks is fetched.
All hosts work at once. The gate runs when the stack file names another folder, image, host or
revision; `python -m tandem weights` compares at any other time.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tandem.errors import GateFailed, WeightsDiffer
from tandem.gates.containers import say
from tandem.gates.fetching import fetch_everywhere
from tandem.gates.hashing import hash_everywhere
from tandem.gates.manifest import (
    SHORT,
    Manifest,
    manifests_of,
    read_manifest,
    write_manifest,
)
from tandem.gates.run import run_gate
from tandem.gates.spec import WeightsSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tandem.gates.hashing import Found

MOST_FILES = 8
"""How many files of a host are named."""
FETCH = "`python -m tandem weights STACKFILE --fetch` fetches them again"
ROUNDS = 3
"""How often files are fetched that are not the manifest's: a second time would be bad luck."""
RECORD = "`python -m tandem weights STACKFILE --record` makes the manifest"
_GIB = 1024**3


def verify(
    spec: WeightsSpec, before: str = "", *, anew: bool = False, record: bool = False
) -> dict[str, object]:
    """Compare the files of all hosts with the manifest; return what it is in short.

    ``before`` is the result of an earlier run, as JSON. It is the second witness where the manifest
    was not committed: what is made anew has to be the same. ``anew`` reads what has not changed
    since it was hashed last, too; ``record`` makes the manifest from the first host's files
    although there is one. Raises WeightsDiffer with a line for each file that differs, and
    GateFailed when a host does not answer.
    """
    path = Path(spec.manifest)
    known = None if record else read_manifest(path, spec.model, spec.revision)
    found = hash_everywhere(spec.folders, spec.image, known.sizes if known else None, anew=anew)
    manifest = known or _made(spec, found[0], before)
    wrong = {one.host: differences(spec, manifest, one, found) for one in found}
    lines = [line for host, words in wrong.items() for line in _shortened(host, words.values())]
    if lines:
        whose = spec.manifest if known else f"{found[0].host}, the first one"
        header = f"not every host has the files of {whose}:"
        way = _way(spec, is_known=known is not None)
        names = {host: sorted(words) for host, words in wrong.items() if words}
        raise WeightsDiffer("\n".join([header, *lines, way]), lines, names)
    if known is None:
        write_manifest(path, manifest)
        say(f"{path} is made from the files of {found[0].host}: commit it")
    size = sum(manifest.sizes.values()) / _GIB
    read = sum(one.read for one in found) / _GIB
    say(
        f"{len(manifest.files)} files, {size:.2f} GiB, are as they have to be on "
        f"{', '.join(one.host for one in found)}; {read:.2f} GiB were hashed now"
    )
    return {**manifest.summary, "manifest": spec.manifest}


def fetch_and_verify(spec: WeightsSpec, *, anew: bool = False) -> dict[str, object]:
    """Do as ``verify`` does, and fetch from the Hub what a host lacks or has wrong.

    Raises as ``verify`` does, and GateFailed when the Hub does not give a file.
    """
    path = Path(spec.manifest)
    manifest = read_manifest(path, spec.model, spec.revision)
    if manifest is None:
        manifest = fetch_everywhere(spec, None, {one.host: () for one in spec.folders})
        write_manifest(path, manifest)
        say(f"{path} is what the Hub has of {spec.model}: commit it")
    for _ in range(ROUNDS):
        try:
            return verify(spec, anew=anew)
        except WeightsDiffer as differ:
            anew = False
            say("\n".join(differ.lines))
            if fetch_everywhere(spec, manifest, differ.files) != manifest:
                raise GateFailed(
                    f"{path} is not what the Hub has of {spec.model} at {spec.revision}; "
                    "restore the file, or remove it: the next `pulumi up` makes it from the Hub"
                ) from None
    return verify(spec)


def differences(
    spec: WeightsSpec, manifest: Manifest, found: Found, everywhere: Sequence[Found]
) -> dict[str, str]:
    """Return a line for each file of one host that is not as the manifest has it, by name."""
    lines = {}

    def note(name: str, words: str, way: str) -> None:
        # One line at the end says it for all that come from the Hub.
        lines[name] = f"{name} {words}" if spec.hub else f"{name} {words}; {way}"

    for name, problem in found.problems.items():
        note(name, f"can't be used: {problem}", _replace(manifest, name, everywhere))
    for name, entry in manifest.files.items():
        again = _replace(manifest, name, everywhere)
        size, digest = found.sizes.get(name), found.hashes.get(name)
        if name in found.problems:
            continue
        if size is None:
            note(name, f"is missing ({entry.size} bytes, {entry.sha256[:SHORT]})", again)
        elif size != entry.size:
            note(name, f"has {size} bytes, not {entry.size}", again)
        elif digest is not None and digest != entry.sha256:
            ours, theirs = digest[:SHORT], entry.sha256[:SHORT]
            note(name, f"has SHA-256 {ours}, not {theirs}", again)
    for name in sorted(found.sizes.keys() - manifest.files.keys()):
        note(name, f"({found.sizes[name]} bytes) is extra", "move it out of the folder")
    return lines


def _replace(manifest: Manifest, name: str, everywhere: Sequence[Found]) -> str:
    entry = manifest.files.get(name)
    others = (one.host for one in everywhere if entry and one.files.get(name) == entry)
    return f"copy it from {next(others, 'where it came from')}"


def _shortened(host: str, lines: Iterable[str]) -> list[str]:
    said = [f"{host}: {line}" for line in lines]
    more = len(said) - MOST_FILES
    return [*said[:MOST_FILES], f"{host}: and {more} more files"] if more > 0 else said


def _way(spec: WeightsSpec, *, is_known: bool) -> str:
    if spec.hub:
        return FETCH
    if not is_known:
        return f"if {spec.folders[0].host} has the wrong ones: replace them there"
    return (
        "if the files are meant to be others: declare their commit as model.revision, or "
        f"{RECORD} from those of {spec.folders[0].host}"
    )


def _made(spec: WeightsSpec, found: Found, before: str) -> Manifest:
    """Return a manifest of the first host's files.

    Raises GateFailed when they are not what was downloaded, are those of another revision, or not
    those that an earlier run has seen.
    """
    lines = [f"{name} can't be used: {words}" for name, words in found.problems.items()]
    lines += _not_as_downloaded(spec.revision, found)
    if not found.sizes:
        lines.append("the folder has no files")
    if lines:
        raise GateFailed("\n".join(_shortened(found.host, lines)))
    manifest = Manifest(spec.model, spec.revision, found.files)
    for path, other in manifests_of(Path(spec.manifest).parent, spec.model):
        is_other = None not in (other.revision, spec.revision) and other.revision != spec.revision
        if is_other and other.digest == manifest.digest:
            raise GateFailed(
                f"{found.host} has the files of revision {other.revision} ({path}), and the stack "
                f"file declares {spec.revision}; put those files into the folder on every host"
            )
    earlier = json.loads(before) if before else {}
    of_same = earlier.get("manifest") == spec.manifest
    if of_same and earlier["sha256"] != manifest.digest:
        raise GateFailed(
            f"{spec.manifest} is not here, and the files of {found.host} "
            f"({manifest.digest[:SHORT]} over all) are not those of the last run "
            f"({earlier['sha256'][:SHORT]}); restore it from whoever ran `pulumi up` last, or "
            f"{RECORD} anew"
        )
    return manifest


def _not_as_downloaded(revision: str | None, found: Found) -> list[str]:
    """Return a line for each file that is not what huggingface_hub noted when it came."""
    lines = []
    for name, (commit, etag) in found.downloads.items():
        digest = found.hashes.get(name)
        if digest is None:
            continue
        if revision is not None and commit != revision:
            lines.append(
                f"{name} was downloaded at commit {commit[:SHORT]}, not {revision[:SHORT]}; "
                "correct model.revision or download it again"
            )
        # A small file's ETag is Git's hash, of 40 digits.
        elif len(etag) == 64 and etag != digest:
            lines.append(
                f"{name} has SHA-256 {digest[:SHORT]}, and the Hub said {etag[:SHORT]}; "
                "download it again"
            )
    return lines


def main(text: str) -> dict[str, object]:
    """Run the gate as Pulumi does: the result of the last run is in the environment."""
    spec = WeightsSpec.from_json(text)
    if spec.hub:
        return fetch_and_verify(spec)
    return verify(spec, os.environ.get("PULUMI_COMMAND_STDOUT", ""))


if __name__ == "__main__":
    sys.exit(run_gate(main))
