"""Which errors can be a cause, and which only tell that something else has failed.

The words are those of vLLM 0.6 to 0.32, Ray 2.60, PyTorch 2.9 and NCCL 2.28.
"""

from __future__ import annotations

import re
from enum import IntEnum


class Kind(IntEnum):
    """How near to the cause an error is, the nearest first."""

    CAUSE = 1
    END = 2
    """Something ended, or did not answer in time, and nobody says why."""
    LOST = 3
    """The other side of a connection was lost."""
    WARNING = 4
    """A warning of NCCL: a cause where an error of NCCL follows."""
    ECHO = 5
    """Says that there is a cause elsewhere, or is noise of an end that was under way."""


_ECHO_NAMES = {
    *("EngineDeadError", "MQEngineDeadError", "AsyncEngineDeadError", "EngineGenerateError"),
    *("CancelledError", "KeyboardInterrupt", "SystemExit", "GeneratorExit", "StopIteration"),
    *("StopAsyncIteration", "ExceptionGroup", "BaseExceptionGroup", "Empty", "Again"),
    *("ContextTerminated", "ProcessRaisedException", "ChildFailedError"),
}
_ECHO = re.compile(
    r"(?i)root cause|stack ?trace \(?above|see (?:the )?stack ?trace|inspect the stack ?trace"
    r"|initialization failed due to|core initialization failed|engine process failed to start"
    r"|failed to import on the worker|background loop|^cancelled$|after (?:interpreter )?shutdown"
    r"|on closed file|event loop is closed|test a child process|server got closed"
    r"|\d+ sub-exceptions?\)|engine core process \S+ died unexpectedly|^executor failed\.$"
    r"|engine process \(pid \d+\) died"
)
_KILLED_CORE = re.compile(r"Failed core proc\(s\): \{[^}]{0,200}: -(?:4|7|8|9|11)\b")
_QUOTED = re.compile(r"Worker failed with error '[^']")
_END_NAMES = {
    *("ActorDiedError", "RayActorError", "ActorUnavailableError", "WorkerCrashedError"),
    *("NodeDiedError", "OwnerDiedError", "ObjectLostError", "LocalRayletDiedError"),
    *("ActorHandleNotFoundError", "RayChannelTimeoutError", "GetTimeoutError", "TimeoutError"),
    *("DistStoreError", "DistNetworkError", "ProcessExitedException", "BrokenProcessPool"),
}
_END = re.compile(
    r"(?i)watchdog caught|timed? ?out|died unexpectedly|marked (?:as )?dead|died with exit code"
    r"|GCS may have been killed|failed to connect to GCS"
)
_LOST_NAMES = {
    *("BrokenPipeError", "ConnectionResetError", "ConnectionAbortedError", "EOFError"),
    *("ConnectionRefusedError", "RayChannelError", "IncompleteReadError", "RemoteDisconnected"),
}
_LOST = re.compile(
    r"(?i)connection (?:was )?(?:reset|closed|refused|abort)|broken pipe|socket closed"
    r"|remote process exited|ncclRemoteError|channel closed|completion (?:from|with) (?:peer|error)"
    r"|recvValue failed|sendBytes failed|no route to host|network is unreachable|closed by peer"
    r"|communicator was aborted"
)
_KILLS = {"-4", "-7", "-8", "-9", "-11"}
"""Signals that end a process from outside, or by its own fault, and let it say nothing."""


def kind_of(name: str, message: str, details: str = "") -> Kind:
    """Return the kind of an exception by its name, its message and the lines below that."""
    last = name.rpartition(".")[2]
    if _KILLED_CORE.search(message):
        return Kind.CAUSE
    if _QUOTED.search(message):
        return Kind.LOST
    if last in _ECHO_NAMES or _ECHO.search(message):
        return Kind.ECHO
    words = f"{name}: {message}\n{details}"
    if last in _LOST_NAMES or _LOST.search(words):
        return Kind.LOST
    if last in _END_NAMES or _END.search(words):
        return Kind.END
    return Kind.CAUSE


def kind_of_exit(code: str) -> Kind:
    """Return the kind of a process's end by its exit code as Python gives it; may be empty."""
    if code in {"0", "-15", "-2"}:
        return Kind.ECHO
    return Kind.CAUSE if code in _KILLS else Kind.END
