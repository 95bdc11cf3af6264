"""Pure: settings and facts in, one frozen Plan out. Nothing here looks at a host."""

from tandem.planner.drift import steady
from tandem.planner.plan import Plan, make_plan
from tandem.planner.specs import ContainerSpec, Mount, Upload, VolumeSpec
from tandem.planner.summary import beside

__all__ = [
    "ContainerSpec",
    "Mount",
    "Plan",
    "Upload",
    "VolumeSpec",
    "beside",
    "make_plan",
    "steady",
]
