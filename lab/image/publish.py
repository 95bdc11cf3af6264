"""Puts images into the lab's registry, and finds them there."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lab import registry
from lab.errors import LabError
from lab.layout import Site
from lab.progress import step


@dataclass(frozen=True)
class Published:
    """An image that a recipe makes; a second tag tells of which recipe the usual one is."""

    repository: str
    tag: str
    recipe: str
    """Short hash of the recipe."""
    pack: Callable[[], Path]
    """Returns a new OCI layout, which is deleted after it was copied."""

    def ensure(self, site: Site) -> None:
        """Put the image of the recipe into the registry, if it is not there yet."""
        if registry.digest_of(site, self.repository, self._mark):
            return
        layout = self.pack()
        with step(f"copying the image {self.repository} into the registry"):
            for tag in (self.tag, self._mark):
                registry.push(site, layout, self.repository, tag)
        shutil.rmtree(layout)

    def forget_old(self, site: Site) -> None:
        """Delete the images of older recipes from the registry, which must not run."""
        registry.forget(site, self.repository, f"{self.tag}-*", but=self._mark)

    def reference(self, site: Site) -> str:
        """Return the image's reference with its digest.

        Raises LabError when the registry does not have the image.
        """
        digest = registry.digest_of(site, self.repository, self.tag)
        if digest is None:
            raise LabError(f"the registry has no {self.repository}: run `python3 -m lab up` again")
        return f"{site.registry}/{self.repository}:{self.tag}@{digest}"

    @property
    def _mark(self) -> str:
        return f"{self.tag}-{self.recipe}"
