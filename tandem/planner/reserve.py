"""What a rank's memory holds beside weights and KV cache: named ranges, each with its source.

Nothing in a model's specification gives these numbers. Each is a range from a measurement or a
log; where there is none, the source says "assumed".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tandem.planner.engine import PLAIN_LOADERS
from tandem.planner.specs import SpecModel
from tandem.planner.versions import GRAPHS_IN_BUDGET
from tandem.units import GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.planner.architecture import Architecture
    from tandem.planner.engine import EngineOptions
    from tandem.planner.memory import HostMemory
