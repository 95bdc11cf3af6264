"""What every backend has to say, and what most of them say in the same way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from tandem.findings import Finding
    from tandem.gates.spec import JoinSpec, RanksSpec
    from tandem.planner.containers import Containers
    from tandem.planner.specs import ContainerSpec
    from tandem.settings import HostSettings, Settings
    from tandem.survey.facts import ImageContent


class TakenPort(NamedTuple):
    """A port that a backend takes on the first host."""

    key: str
    """The key of the stack file that says so."""
    number: int
    address: str
    is_late: bool = False
    """Whether nobody listens there yet while a deployment starts."""


class Backend(ABC):
    """What carries one model over the hosts of a deployment: its containers, and how they join."""

    needs_ray = False
    """Whether the image has to hold Ray."""
    roles: tuple[str, ...] = ("server",)
    """What its containers are called."""
    reserved_flags: Mapping[str, str] = {}
    """Flags of ``vllm serve`` that it sets itself, and the key that decides each."""
    reserved_variables: Mapping[str, str] = {}
    """Variables that it sets itself, and the key that decides each."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @abstractmethod
    def slots(self) -> Sequence[str]:
        """Return the names of the hosts, one for each GPU, in the order of vLLM's ranks."""

    @abstractmethod
    def containers(self, make: Containers) -> tuple[ContainerSpec, ...]:
        """Return all containers in the order in which they start; the one with the API is last."""

    def join(self, containers: Sequence[ContainerSpec]) -> JoinSpec | RanksSpec | None:
        """Return what the join gate waits for; None where there is nothing to join."""
        return None

    def ports(self) -> tuple[TakenPort, ...]:
        """Return the ports that it takes on the first host; the API's is not among them."""
        return ()

    def rules(self) -> Iterator[Finding]:
        """Yield what the stack file gets wrong of this backend."""
        yield from ()

    def image_rules(self, held: ImageContent | None) -> Iterator[Finding]:
        """Yield what the image lacks for it; ``held`` is what it is known to hold."""
        yield from ()

    def known_by(self, name: str) -> dict[str, str | None]:
        """Return a variable's value by host, as the ranks there know it."""
        everywhere = self.settings.serve.env.get(name)
        return {host.name: everywhere or host.env.get(name) for host in self.settings.hosts}

    def start(self) -> dict[str, Any]:
        """Return what tells a start with it from a start with Ray, whose records say nothing."""
        return {}

    @property
    def first(self) -> HostSettings:
        """Return the first host, which has the API."""
        return self.settings.hosts[0]

    @property
    def others(self) -> tuple[HostSettings, ...]:
        """Return the hosts behind the first one."""
        return self.settings.hosts[1:]
