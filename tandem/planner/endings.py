"""What is done when containers go: whose log is kept, in which order, and when a host is free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.gates.spec import KeepSpec, ReleaseSpec, Watched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tandem.planner.specs import ContainerSpec
    from tandem.settings import HostSettings, Settings


def keep_specs(host: HostSettings, containers: Sequence[ContainerSpec]) -> dict[str, KeepSpec]:
    """Return by name the containers of one host, each with those of all hosts that go after it."""
    return {
        spec.name: KeepSpec(Watched(host.name, host.target, spec.name), _after(spec, containers))
        for spec in containers
        if spec.host == host.name
    }


def release_spec(settings: Settings, stack: str, host: HostSettings) -> ReleaseSpec:
    """Return when a host counts as free again."""
    release = settings.release
    return ReleaseSpec(stack, host.name, host.target, release.memory, release.timeout)


def _after(spec: ContainerSpec, containers: Sequence[ContainerSpec]) -> tuple[str, ...]:
    """Return what is there before a container, and what is there before that, and so on."""
    known = {other.name: other for other in containers}
    found: set[str] = set()
    todo = list(spec.after)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += known[name].after
    return tuple(name for name in known if name in found)
