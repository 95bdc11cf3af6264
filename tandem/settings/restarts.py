"""``tandem:restarts``: how often a container may start again before it stays down."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tandem.settings.base import SettingsModel
from tandem.units import Seconds


class RestartSettings(SettingsModel):
    """How often each container may start again by itself: after a crash, a stall or a reboot."""

    limit: Annotated[int, Field(ge=1)] = 5
    """Most restarts within the window; with one more the container stays down, and its log says
    why. An ``up`` that replaces it starts to count anew."""
    window: Seconds = 30 * 60
    """How long a restart counts. With ``image.entrypoint: image`` on a single host every restart
    counts for ever: Docker alone counts there."""
