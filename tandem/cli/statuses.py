"""How a command ends: its exit status."""

from __future__ import annotations

OK = 0
"""All is well: it fits or is tight, nothing was refused, nothing has changed."""
BROKEN = 1
"""It could not be told: a host, the engine or the Hub does not answer."""
INVALID = 2
"""The stack file can't be used."""
REFUSED = 3
"""Memory, a rule or a look at the hosts speaks against it."""
CHANGED = 7
"""Something is not as declared, as Pulumi's own status for drift."""
