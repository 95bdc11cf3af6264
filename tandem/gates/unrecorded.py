"""A container that an interrupted `up` has started, and that the engine does not know of.

The engine is about to make it anew, and Docker would refuse the name. What tells it from anybody
else's container, also of another stack of the same name, is a label with the deployment's identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.errors import GateFailed
from tandem.ssh import UNREACHABLE, last_line

if TYPE_CHECKING:
    from tandem.gates.spec import Watched

IDENTITY = "dev.tandem.deployment"
"""The label; its value is made once for a deployment and kept in the engine's state."""

GRACE_SECONDS = 30
LOOK_SECONDS = 60
REMOVE_SECONDS = GRACE_SECONDS + 60

_FORMAT = f'{{{{.Id}}}} {{{{index .Config.Labels "{IDENTITY}"}}}}'


def remove_unrecorded(watched: Watched, identity: str) -> bool:
    """Remove the container of this name if it is of this deployment; tell whether there was one.

    Raises GateFailed when the host does not answer, or the container does not go.
    """
    look = ("docker", "inspect", "--type=container", "--format", _FORMAT, watched.container)
    answer = watched.target.run(*look, timeout=LOOK_SECONDS)
    if answer.returncode == UNREACHABLE:
        raise GateFailed(f"host {watched.host} does not answer: {last_line(answer.stderr)}")
    container, _, found = answer.stdout.strip().partition(" ")
    if answer.returncode != 0 or found != identity:
        return False
    # With its grace: what holds a GPU is not to be killed.
    ends = f"docker stop --time {GRACE_SECONDS} {container} && docker rm --force {container}"
    gone = watched.target.run("sh", "-c", ends, timeout=REMOVE_SECONDS)
    if gone.returncode != 0:
        words = last_line(gone.stderr)
        raise GateFailed(
            f"{watched.container} on {watched.host}, which an interrupted run has left, "
            f"can't be removed: {words}"
        )
    return True
