"""``tandem:ray`` and ``tandem:mp``: how a backend spans the hosts; each group has its name."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tandem.settings.base import SettingsModel
from tandem.settings.serve import Port
from tandem.units import Seconds


class RaySettings(SettingsModel):
    """Ray, which spans the hosts when there is more than one."""

    port: Port = 6379
    """Port of Ray's head."""
    join_timeout: Seconds = 10 * 60
    """How long an ``up`` waits until every worker has joined."""


class MpSettings(SettingsModel):
    """vLLM's own processes on every host, without Ray."""

    port: Annotated[int, Field(ge=1, le=65534)] = 29501
    """Port of the first host where the ranks find each other (vLLM's ``--master-port``). On the one
    after it the first host says which start of the deployment it is: what belongs to another one
    ends, and starts again."""
    join_timeout: Seconds = 10 * 60
    """How long an ``up`` waits until every rank has joined, and the ranks for each other where vLLM
    has ``--distributed-timeout-seconds`` (0.18 and newer, known from ``image.vllm``)."""
