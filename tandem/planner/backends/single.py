"""One host: a server with all ranks, and nothing to join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.arguments import serve_arguments
from tandem.planner.backends.backend import Backend
from tandem.planner.backends.ray import node_variables

if TYPE_CHECKING:
    from tandem.planner.containers import Containers
    from tandem.planner.specs import ContainerSpec


class Single(Backend):
    """A server alone."""

    def slots(self) -> list[str]:
        """Return the host's name for each of its GPUs."""
        return [self.first.name] * self.first.gpu_count

    def containers(self, make: Containers) -> tuple[ContainerSpec, ...]:
        """Return the server."""
        server = make.server(
            serve_arguments(self.settings),
            # Running deployments have them; without them the next `up` would replace the server.
            env=node_variables(self.first),
            ranks=tuple(range(self.settings.world_size)),
        )
        return (server,)
