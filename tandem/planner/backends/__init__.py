"""The room for backends: one file each, the only place that knows which containers it has.

Everything else asks ``backend_of(settings)``, or the plan's containers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.backends.mp import Mp
from tandem.planner.backends.ray import Ray
from tandem.planner.backends.single import Single

if TYPE_CHECKING:
    from tandem.planner.backends.backend import Backend
    from tandem.settings import Settings

BACKENDS: dict[str, type[Backend]] = {"ray": Ray, "mp": Mp}
"""By what ``tandem:backend`` calls them: what spans several hosts."""


def backend_of(settings: Settings) -> Backend:
    """Return what carries the model over the hosts of a stack file."""
    return BACKENDS[settings.backend](settings) if settings.spans_hosts else Single(settings)


def roles() -> tuple[str, ...]:
    """Return what containers are called, under any backend."""
    found = [role for backend in BACKENDS.values() for role in backend.roles]
    return tuple(dict.fromkeys([*found, *Single.roles]))


def reserved_flags() -> dict[str, str]:
    """Return the flags that some backend sets, and the key that decides each."""
    return {flag: key for one in BACKENDS.values() for flag, key in one.reserved_flags.items()}


def reserved_variables() -> dict[str, str]:
    """Return the variables that some backend sets, and the key that decides each."""
    return {name: key for one in BACKENDS.values() for name, key in one.reserved_variables.items()}
