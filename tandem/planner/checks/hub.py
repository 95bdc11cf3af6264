"""A model from the Hub: whether its files stand still, can be had, and have room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.findings import Finding, error
from tandem.settings import is_commit
from tandem.units import gib

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.planner.checks.places import Place
    from tandem.settings import Settings
    from tandem.survey.facts import HubFacts

SOURCE = "tandem:model.source.hub"
REVISION = "tandem:model.revision"


def check_hub(settings: Settings, hub: HubFacts | None) -> Iterator[Finding]:
    """Yield what keeps the model from being fetched, as far as it can be told from here."""
    if not settings.model.source.hub:
        return
    if hub is not None and hub.refusal is not None:
        yield error(
            "hub-refuses",
            SOURCE,
            hub.refusal,
            "correct model.id and model.revision; for a model with terms, set the variable "
            "HF_TOKEN here to a token that may read it",
        )
    elif (revision := settings.model.revision) is None or not is_commit(revision):
        said = "no commit is declared" if revision is None else f'"{revision}" is no commit'
        fix = "write the commit, 40 hex digits: the Hub shows it in the list of the commits"
        if hub is not None and hub.commit is not None:
            said += f", and what {hub.endpoint} has can change"
            fix = f"write {hub.commit}, what it is now"
        yield error("revision-not-fixed", REVISION, said, fix)


def check_room(
    settings: Settings, hosts: Sequence[Place], hub: HubFacts | None
) -> Iterator[Finding]:
    """Yield hosts whose Docker has no room for what they have yet to fetch."""
    if not settings.model.source.hub:
        return
    size = hub.files_bytes if hub is not None else None
    if size is None:
        size = settings.model.weights or 0
    for host in hosts:
        disk, there = host.seen.docker_disk, host.seen.fetched_bytes
        if disk is not None and there is not None and size - there > disk.free:
            yield error(
                "disk-too-small",
                SOURCE,
                f"the model takes {gib(size)}, {gib(there)} of it are there, and Docker's disk on "
                f"{host.name} ({disk.mounted_on}) has {gib(disk.free)} free of {gib(disk.size)}",
                "free room there, or move Docker's folder to a larger disk",
            )
