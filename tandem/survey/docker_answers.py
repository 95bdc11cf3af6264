"""What the survey asks a host's Docker for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tandem.survey.docker_api import DockerApi, DockerSilent

if TYPE_CHECKING:
    from tandem.ssh import SshTarget

SECONDS = 10
"""How long Docker may take for all answers together."""


def docker_answers(target: SshTarget, stack: str, repository: str) -> dict[str, Any]:
    """Return what Docker says of itself, all containers, the stack's own, and the images.

    Each is as the API has it; ``problem`` alone is there when Docker does not answer, in its words.
    Raises DockerSilent when SSH does not get to the host.
    """
    try:
        with DockerApi(target, SECONDS) as docker:
            return _asked(docker, stack, repository)
    except DockerSilent as silent:
        if silent.is_lost:
            raise
        if silent.is_late:
            return {"problem": str(silent)}
        # Its words for a user without rights, or where there is no daemon, are the clearer ones.
        said = target.run("timeout", str(SECONDS), "docker", "version", "--format", " ")
        words = (said.stderr.strip() or str(silent)).rpartition("\n")[2]
        return {"problem": words}


def _asked(docker: DockerApi, stack: str, repository: str) -> dict[str, Any]:
    containers = _listed(docker, "/containers/json?all=1")
    own = [
        one["Id"]
        for one in containers
        if (one.get("Labels") or {}).get("dev.tandem.stack") == stack
    ]
    inspected = [docker.get(f"/containers/{id_}/json") for id_ in own]
    filters = quote(json.dumps({"reference": [repository]}))
    images = _listed(docker, f"/images/json?filters={filters}")
    return {
        "version": docker.get("/version"),
        "info": docker.get("/info"),
        "containers": containers,
        "own": inspected,
        "reasons": {one["Id"]: _last_words(docker, one) for one in inspected if _gave_up(one)},
        "images": [docker.get(f"/images/{image['Id']}/json") for image in images],
    }


def _listed(docker: DockerApi, path: str) -> list[dict[str, Any]]:
    answer = docker.get(path)
    if not isinstance(answer, list):
        raise DockerSilent(str(answer["message"]))
    return answer


def _gave_up(container: dict[str, Any]) -> bool:
    state = container.get("State", {})
    return (state.get("Status"), state.get("ExitCode")) == ("exited", 0)


def _last_words(docker: DockerApi, container: dict[str, Any]) -> str:
    """Return the last line of a container's log."""
    log = docker.read(f"/containers/{container['Id']}/logs?stdout=1&stderr=1&tail=1")
    # Without a terminal each piece has a header of 8 bytes: stream, zeros, length (Docker's API,
    # ContainerAttach).
    is_framed = log[1:4] == b"\0\0\0"
    return log[8 if is_framed else 0 :].decode(errors="replace").strip().rpartition("\n")[2]
