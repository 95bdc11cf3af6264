"""Pulumi components: thin shells that render a Plan. They decide nothing."""

from components.cluster import Cluster
from components.settings import read_settings
from components.shutdown import end_quietly_when_stopped

__all__ = ["Cluster", "end_quietly_when_stopped", "read_settings"]
