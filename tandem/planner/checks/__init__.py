"""What the hosts, as they are, say against the declaration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.checks.access import check_access
from tandem.planner.checks.clock import check_clocks
from tandem.planner.checks.containers import check_names, check_ports
from tandem.planner.checks.disks import check_disks, check_shm
from tandem.planner.checks.gpus import check_gpus
from tandem.planner.checks.hub import check_hub, check_room
from tandem.planner.checks.image import check_image, check_platforms
from tandem.planner.checks.model import check_model
from tandem.planner.checks.network import check_interfaces
from tandem.planner.checks.paths import check_paths
from tandem.planner.checks.places import places
from tandem.planner.checks.rdma import check_rdma
from tandem.planner.checks.skew import check_skew
from tandem.planner.checks.unseen import check_unseen

if TYPE_CHECKING:
    from tandem.findings import Finding
    from tandem.settings import Settings
    from tandem.survey.facts import Facts

__all__ = ["check_facts", "check_hub", "check_unseen"]


def check_facts(settings: Settings, facts: Facts) -> list[Finding]:
    """Return the findings of settings against what was seen; none when nobody looked."""
    if not facts.hosts:
        return []
    everywhere = places(settings, facts)
    # What could not be looked at has one finding, not one for each thing that was not seen.
    usable = [place for place in everywhere if place.seen.is_usable]
    return [
        *check_access(everywhere),
        *check_interfaces(settings, usable),
        *check_paths(usable),
        *check_names(settings, usable, facts.stack),
        *check_ports(settings, usable, facts.stack),
        *check_gpus(usable),
        *check_rdma(settings, usable),
        *check_model(settings, usable),
        *check_disks(usable, facts.image),
        *check_room(settings, usable, facts.hub),
        *check_shm(settings, usable),
        *check_clocks(usable),
        *check_skew(settings, usable),
        *check_platforms(settings, usable, facts.image),
        *(check_image(settings, facts.image) if facts.hosts[0].is_usable else ()),
    ]
