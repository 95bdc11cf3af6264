"""What the user declares: the keys of a stack file, checked one by one, without any I/O."""

from tandem.settings.hosts import HostSettings, MemorySettings
from tandem.settings.image import ImageSettings
from tandem.settings.load import IMAGES, MANIFESTS, STACKS, STARTS, load_settings
from tandem.settings.model import ModelSettings, ModelSource, is_commit
from tandem.settings.serve import ServeSettings
from tandem.settings.stack import Settings

__all__ = [
    "IMAGES",
    "MANIFESTS",
    "STACKS",
    "STARTS",
    "HostSettings",
    "ImageSettings",
    "MemorySettings",
    "ModelSettings",
    "ModelSource",
    "ServeSettings",
    "Settings",
    "is_commit",
    "load_settings",
]
