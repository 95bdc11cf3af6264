"""A small image with a shell, for tests of hosts and containers that need no vLLM."""

import shutil
import tempfile
from pathlib import Path

from lab import registry
from lab.image import layout
from lab.layout import Site
from lab.shell import run

REPOSITORY = "busybox"
TAG = "1.35"


def ensure(site: Site, host_rootfs: Path) -> None:
    """Put the image into the registry, if it is not there yet, from a host's root file system."""
    if registry.digest_of(site, REPOSITORY, TAG):
        return
    with tempfile.TemporaryDirectory() as folder:
        root, target = Path(folder, "root"), Path(folder, "layout")
        for name in ("bin", "etc", "proc", "sys", "dev", "tmp", "root"):
            (root / name).mkdir(parents=True)
        # The temporary folder, and so the top of the image, is for its owner alone otherwise.
        root.chmod(0o755)
        shutil.copy(host_rootfs / "usr" / "bin" / "busybox", root / "bin")
        run(["chroot", root, "/bin/busybox", "--install", "-s", "/bin"])
        layer = layout.pack_layer(root, ["."], [], target)
        layout.write_layout([layer], {"Env": ["PATH=/bin"], "Cmd": ["sh"]}, target)
        registry.push(site, target, REPOSITORY, TAG)
