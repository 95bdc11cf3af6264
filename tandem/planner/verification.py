"""What the weights gate compares: the files of every host with the model's manifest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tandem.gates.spec import HubSource, WeightsFolder, WeightsSpec
from tandem.settings import MANIFESTS

if TYPE_CHECKING:
    from tandem.planner.containers import Containers
    from tandem.settings import Settings


def weights_spec(settings: Settings, containers: Containers, image: str) -> WeightsSpec:
    """Return what has to hold of the weights on every host."""
    model = settings.model
    folders = tuple(
        WeightsFolder(
            host=host.name,
            target=host.target,
            volume=containers.model_volume(host).name,
            device=model.source.path,
            hashes=containers.hashes_volume(host).name,
        )
        for host in settings.hosts
    )
    path = (MANIFESTS / manifest_name(model.id, model.revision)).as_posix()
    hub = HubSource(model.source.endpoint) if model.source.hub else None
    return WeightsSpec(folders, image, model.id, model.revision, path, hub)


def manifest_name(model: str, revision: str | None) -> str:
    """Return the file name of a model's manifest: stacks that serve the same model share it."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "--", model)
    return f"{name}@{revision[:12]}.json" if revision else f"{name}.json"
