"""Earlier starts: which one tells what this deployment's memory will be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.gates.spec import Record
from tandem.planner.backends import backend_of
from tandem.planner.memory.hosts import Measured
from tandem.settings import STARTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tandem.planner.memory.hosts import HostMemory
    from tandem.planner.memory.result import Fit
    from tandem.settings import Settings
    from tandem.survey.facts import StartFacts

# What a request may take and what is left for it changes nothing that a rank holds besides.
_WITHOUT_EFFECT = {
    "max_model_len",
    "gpu_memory_utilization",
    "kv_cache_memory",
    "port",
    "listen",
    "ready_timeout",
}
"""Fields of ``serve`` that may differ between starts of the same memory; all others tell them."""

_IGNORED = {"stallTimeout"}
"""Keys of ``serve`` that records hold, and that do not tell starts apart either."""


def start_of(
    settings: Settings, digest: str | None, memory: Mapping[str, HostMemory]
) -> dict[str, Any] | None:
    """Return what tells a start from others whose memory is another.

    None when that is not known, or when all GPUs are not of one kind.
    """
    gpus = {(host.device, host.total) for host in memory.values()}
    if digest is None or len(gpus) != 1 or len(memory) != len(settings.hosts):
        return None
    device, total = gpus.pop()
    if device is None or device == "cpu":
        return None
    return {
        "model": settings.model.id,
        "image": digest,
        "gpu": device,
        "gpuBytes": total,
        "hosts": [host.gpu_count for host in settings.hosts],
        **backend_of(settings).start(),
        "serve": settings.serve.model_dump(
            mode="json", by_alias=True, exclude=_WITHOUT_EFFECT, exclude_none=True
        ),
    }


def measured(start: dict[str, Any] | None, known: tuple[StartFacts, ...]) -> Measured | None:
    """Return what the like of this start logged, or None."""
    for fact in known:
        if start and _telling(fact.start) == _telling(start):
            return Measured(
                origin=f"start of {fact.when}",
                weights_bytes=fact.weights_bytes,
                non_kv_bytes=fact.non_kv_bytes,
            )
    return None


def _telling(start: Mapping[str, Any]) -> dict[str, Any]:
    serve = start.get("serve") or {}
    return {**start, "serve": {key: serve[key] for key in serve if key not in _IGNORED}}


def record(start: dict[str, Any] | None, fit: Fit | None) -> Record | None:
    """Return where the ready gate keeps what this start logs, or None: it can't be told apart."""
    requested = {rank.requested_bytes for rank in fit.ranks} if fit else set()
    if start is None or len(requested) != 1:
        return None
    return Record(path=STARTS.as_posix(), start=start, requested_bytes=requested.pop())
