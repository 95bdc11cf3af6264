"""Puts the image into the lab's registry."""

import shutil

from lab import registry
from lab.errors import LabError
from lab.image import build, recipe
from lab.layout import Site
from lab.progress import step


def ensure(site: Site) -> None:
    """Put the image of the recipe into the registry, if it is not there yet."""
    mark = _mark(recipe.digest())
    if registry.digest_of(site, recipe.REPOSITORY, mark):
        return
    layout = build.pack()
    with step("copying the image into the registry"):
        for tag in (recipe.TAG, mark):
            registry.push(site, layout, recipe.REPOSITORY, tag)
    shutil.rmtree(layout)


def forget_old(site: Site) -> None:
    """Delete the images of older recipes from the registry, which must not run."""
    registry.forget(site, recipe.REPOSITORY, _mark("*"), but=_mark(recipe.digest()))


def reference(site: Site) -> str:
    """Return the image's reference with its digest.

    Raises LabError when the registry does not have the image.
    """
    digest = registry.digest_of(site, recipe.REPOSITORY, recipe.TAG)
    if digest is None:
        raise LabError("the registry has no image: run `python3 -m lab up` again")
    return f"{site.registry}/{recipe.REPOSITORY}:{recipe.TAG}@{digest}"


def _mark(digest: str) -> str:
    """The tag that tells of which recipe the image with the usual tag is."""
    return f"{recipe.TAG}-{digest}"
