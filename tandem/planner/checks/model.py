"""The model's folder on every host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings

PATH = "tandem:model.source.path"


def check_model(settings: Settings, hosts: Sequence[Place]) -> Iterator[Finding]:
    """Yield hosts where the model is missing (vllm#3786), incomplete, or another one."""
    folder = settings.model.source.path
    if folder is None:
        return  # The weights gate fetches what is not there.
    complete = []
    for host in hosts:
        if not host.seen.model.has_config:
            yield error(
                "model-missing",
                PATH,
                f"{host.name} has no {folder}/config.json",
                f"put the model's files into {folder} on every host",
            )
            continue
        findings = list(_files(host))
        yield from findings
        if not findings:
            complete.append(host)
    yield from _differences(complete)


def _files(host: Place) -> Iterator[Finding]:
    model = host.seen.model
    if model.config is None:
        yield error(
            "config-unreadable",
            PATH,
            f"config.json on {host.name} can't be read, or is no JSON object",
            "copy it again",
        )
    if model.missing:
        yield error(
            "weights-missing",
            PATH,
            f"{host.name} lacks {len(model.missing)} of the {len(model.indexed or ())} files that "
            f"model.safetensors.index.json names, {model.missing[0]} first",
            "copy them there",
        )
    for file in model.loaded:
        if file.is_broken:
            yield error(
                "weights-broken",
                PATH,
                f"{file.name} on {host.name} is {file.size:,} bytes and no safetensors file",
                "copy it again; about 130 bytes are a Git LFS pointer: run `git lfs pull`",
            )


def _differences(hosts: Sequence[Place]) -> Iterator[Finding]:
    """Compare every host with the first one by what can be seen without reading the weights."""
    for host in hosts[1:]:
        first, other = hosts[0].seen.model, host.seen.model
        sizes = {file.name: file.size for file in first.loaded}
        theirs = {file.name: file.size for file in other.loaded}
        unequal = sorted(
            name for name in sizes.keys() | theirs.keys() if sizes.get(name) != theirs.get(name)
        )
        if unequal:
            name = unequal[0]
            yield error(
                "model-differs",
                PATH,
                f"{name} is not the same on all hosts: {_size(sizes.get(name))} on "
                f"{hosts[0].name} and {_size(theirs.get(name))} on {host.name}",
                "copy one host's files to the others",
            )
        elif first.config != other.config:
            yield warning(
                "config-differs",
                PATH,
                f"config.json of {host.name} says something else than that of {hosts[0].name}, "
                "which vLLM uses",
                "copy one host's files to the others",
            )


def _size(size: int | None) -> str:
    return "missing" if size is None else f"{size:,} bytes"
