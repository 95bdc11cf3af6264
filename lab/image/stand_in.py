"""The image of the stand-in for Ray and vLLM: Debian's Python and the files of lab/stand_in.

Beside them it has the real client of the Hub, as the image with the real vLLM has it.
"""

import shutil
import tempfile
from pathlib import Path

from lab import cache, debian
from lab.image import build, layout, recipe
from lab.image.distributions import copy_with_needs
from lab.layout import CACHE
from lab.progress import step

REPOSITORY = "stand-in"
TAG = "1"

_SOURCE = Path(__file__).parents[1] / "stand_in"
_PACKAGES = "usr/lib/python3/dist-packages"
_FILES = {
    f"{_PACKAGES}/ray.py": "from lab.stand_in.ray_module import *\n",
    f"{_PACKAGES}/ray-2.60.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: ray\nVersion: 2.60.0\n"
    ),
    f"{_PACKAGES}/vllm-0.32.0.dist-info/METADATA": recipe.VLLM_METADATA,
    "usr/local/bin/ray": '#!/bin/sh\nexec python3 -m lab.stand_in.ray_command "$@"\n',
    "usr/local/bin/vllm": '#!/bin/sh\nexec python3 -m lab.stand_in.vllm_command "$@"\n',
}
_ENVIRONMENT = ["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"]
_LEFT = [
    *("usr/share/doc", "usr/share/info", "usr/share/locale", "usr/share/man", "usr/share/perl"),
    *("var/cache", "var/lib/apt", "var/lib/dpkg", "usr/lib/x86_64-linux-gnu/perl-base"),
    *recipe.LEFTOVERS,
]


def digest() -> str:
    """Return the short hash of everything that the image's content depends on."""
    return cache.digest_of(
        [
            debian.SUITE,
            *debian.BASE_PACKAGES,
            recipe.digest(),
            Path(__file__).read_text(),
            cache.text_of(_SOURCE),
        ]
    )


def pack() -> Path:
    """Return a new OCI layout of the image below the cache; the caller deletes it."""
    base = debian.base()
    folder = CACHE / "stand-in.unfinished"
    shutil.rmtree(folder, ignore_errors=True)
    with step("packing the stand-in for Ray and vLLM"), tempfile.TemporaryDirectory() as made:
        root = Path(made, "root")
        _fill(root)
        layers = [
            # The system in a layer of its own: hosts that have it pull only the rest again.
            layout.pack_layer(base, ["."], [f"./{path}" for path in _LEFT], folder),
            layout.pack_layer(root, ["."], [], folder),
        ]
        layout.write_layout(layers, {"Env": _ENVIRONMENT, "Cmd": ["python3"]}, folder)
    return folder


def _fill(root: Path) -> None:
    # A namespace package: the lab itself is not in the image.
    target = root / _PACKAGES / "lab" / "stand_in"
    shutil.copytree(_SOURCE, target, ignore=shutil.ignore_patterns("__pycache__"))
    copy_with_needs("huggingface_hub", build.rootfs() / recipe.SITE_PACKAGES, root / _PACKAGES)
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if path.parent.name == "bin" else 0o644)
