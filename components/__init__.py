"""Pulumi components: thin shells that render a Plan. They decide nothing."""

from components.cluster import Cluster
from components.settings import read_settings

__all__ = ["Cluster", "read_settings"]
