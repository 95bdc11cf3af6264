"""The deployment that faults are staged on: its names and where its containers are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BackendName = Literal["ray", "mp"]

STACK = "faulty"
BYSTANDER = "bystander"
HELD = "held"
"""A container that keeps a command where a fault is to meet it."""


@dataclass(frozen=True)
class Places:
    """Where one backend has its containers."""

    homes: dict[str, str]
    """The host of each container, by what faults call it."""
    parts: dict[str, str]
    """The end of its name there, where that is not what faults call it."""
    has_session: bool
    """Whether the first host has a volume for Ray's session."""
    has_generations: bool
    """Whether vLLM starts on all hosts again, wherever it ends."""

    @property
    def names(self) -> dict[str, str]:
        """Return the containers' names by what faults call them."""
        return {
            called: f"tandem-{STACK}-{home}-{self.parts.get(called, called)}"
            for called, home in self.homes.items()
        }

    def on(self, host: str) -> set[str]:
        """Return the names of the containers of a host."""
        return {name for called, name in self.names.items() if self.homes[called] == host}

    def volumes(self, host: str) -> set[str]:
        """Return the volumes of a host."""
        parts = ["model", "hashes"]
        if self.has_session and host == self.homes["server"]:
            parts.append("session")
        return {f"tandem-{STACK}-{host}-{part}" for part in parts}


PLACES: dict[BackendName, Places] = {
    "ray": Places(
        {"head": "lab-1", "worker": "lab-2", "server": "lab-1"},
        {"head": "ray-head", "worker": "ray-worker"},
        has_session=True,
        has_generations=False,
    ),
    "mp": Places({"server": "lab-1", "rank": "lab-2"}, {}, has_session=False, has_generations=True),
}
CONTAINERS = Literal["head", "worker", "server", "rank"]
"""What faults call the containers of any backend."""
