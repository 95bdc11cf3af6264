"""The stand-in's module ``ray``: what a driver asks of a session."""

from __future__ import annotations

from typing import Any

from lab.stand_in import session

_address: str | None = None


def is_initialized() -> bool:
    """Tell whether ``init`` has reached a head."""
    return _address is not None


def init(address: str, **_: object) -> None:
    """Reach the head of a session. Raises SessionLost."""
    global _address
    session.alive(address)
    _address = address


def nodes() -> list[dict[str, Any]]:
    """Return the nodes that are alive, in the form of Ray. Raises SessionLost."""
    assert _address is not None, "init() comes first"
    return [
        {
            "Alive": True,
            "NodeManagerAddress": node.address,
            "NodeManagerPort": node.port,
            "Resources": {"GPU": float(node.gpus)},
        }
        for node in session.alive(_address)
    ]


def shutdown() -> None:
    """Forget the head."""
    global _address
    _address = None
