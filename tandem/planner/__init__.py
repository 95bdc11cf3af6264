"""Pure: settings and facts in, one frozen Plan out. Nothing here looks at a host."""

from tandem.planner.plan import Plan, make_plan
from tandem.planner.specs import ContainerSpec, Mount, Upload, VolumeSpec

__all__ = ["ContainerSpec", "Mount", "Plan", "Upload", "VolumeSpec", "make_plan"]
