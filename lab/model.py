"""Tiny models with random weights, made once by transformers in the image's root file system."""

import shutil
from collections.abc import Callable
from pathlib import Path

from lab import cache
from lab.chroot import run_inside
from lab.errors import LabError
from lab.host import Host
from lab.image import build, recipe
from lab.layout import CACHE
from lab.progress import step
from lab.shell import run

FOLDER_ON_HOSTS = "/srv/models"
_MAKERS = Path(__file__).with_name("models")


def families() -> list[str]:
    """Return the model families that can be made."""
    return sorted(path.stem for path in _MAKERS.glob("[!_]*.py"))


def folder_of(family: str) -> Path:
    """Return the folder with a family's model, made when it is not there yet.

    Raises LabError when the family is not known.
    """
    if family not in families():
        raise LabError(f"no model family {family!r}: there is {', '.join(families())}")
    made = cache.made_once(f"model-{family}", _digest(family), _maker(family))
    return made / f"tiny-{family}"


def cached() -> list[Path]:
    """Return the cache's folder for each family, made or not."""
    return [CACHE / f"model-{family}-{_digest(family)}" for family in families()]


def put_on(host: Host, family: str) -> str:
    """Copy a family's model to a host and return its folder there."""
    source = folder_of(family)
    host.put(source, FOLDER_ON_HOSTS)
    return f"{FOLDER_ON_HOSTS}/{source.name}"


def _digest(family: str) -> str:
    texts = [(_MAKERS / f"{name}.py").read_text() for name in ("_common", family)]
    return cache.digest_of([recipe.TAG, *texts])


def _maker(family: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        root = build.rootfs()
        work = CACHE / "downloads"
        shutil.rmtree(work / "models", ignore_errors=True)
        shutil.copytree(_MAKERS, work / "models")
        target = f"tiny-{family}"
        inside = "/tmp/machine/work/models"
        with step(f"making the model {target}"):
            run_inside(root, ["python3", f"{inside}/{family}.py", f"{inside}/{target}"])
        run(["cp", "-r", work / "models" / target, folder])
        # Weights are saved for their owner alone; other users of a host may read them too.
        run(["chmod", "-R", "a+rX", folder])
        shutil.rmtree(work / "models")

    return make
