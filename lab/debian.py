"""Debian root file systems: a common base, and the hosts' own."""

import shutil
from pathlib import Path

from lab import cache
from lab.chroot import run_inside
from lab.progress import step
from lab.shell import CONTAINED, attempt, run

SUITE = "bookworm"
BASE_PACKAGES = ["ca-certificates", "curl", "iproute2", "procps", "python3"]
# busybox-static is what the small image is made of.
HOST_PACKAGES = [
    *("busybox-static", "docker.io", "iptables", "iputils-ping", "openssh-server", "pigz"),
]
_HOST_FILES = Path(__file__).with_name("host_files")
_VERSION = "1"

_USERS = """
set -eu
useradd --create-home --shell /bin/bash --groups docker tandem
useradd --create-home --shell /bin/bash visitor
# An account without a password is locked for key logins too, unless the field says '*'.
usermod --password '*' root
usermod --password '*' tandem
usermod --password '*' visitor
rm -f /etc/ssh/ssh_host_*
"""


def base() -> Path:
    """Return the root file system that the others start from, made when it is not there yet."""
    recipe = cache.digest_of([_VERSION, SUITE, *BASE_PACKAGES])
    return cache.made_once("debian", recipe, _make_base)


def host() -> Path:
    """Return the root file system of a lab host, made when it is not there yet."""
    recipe = cache.digest_of(
        [_VERSION, SUITE, *BASE_PACKAGES, *HOST_PACKAGES, _USERS, cache.text_of(_HOST_FILES)]
    )
    return cache.made_once("host", recipe, _make_host)


def install(root: Path, packages: list[str]) -> None:
    """Install Debian packages in a root file system."""
    apt = ["apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-unsafe-io"]
    run_inside(root, [*apt, "update"])
    run_inside(root, [*apt, "install", "--no-install-recommends", *packages])
    run_inside(root, ["apt-get", "clean"])


def copy_tree(source: Path, target: Path) -> None:
    """Copy the contents of a root file system with owners, modes, times and hard links."""
    run(["cp", "-a", "--reflink=auto", f"{source}/.", target])


def _make_base(root: Path) -> None:
    with step(f"installing Debian {SUITE}"):
        mirror = _machine_mirror()
        choice = ["--variant=minbase", f"--include={','.join(BASE_PACKAGES)}", SUITE]
        run([*CONTAINED, "--mount-proc", "debootstrap", *choice, root, *mirror])
        policy = root / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        run_inside(root, ["apt-get", "clean"])


def _make_host(root: Path) -> None:
    source = base()
    with step("installing the hosts' root file system"):
        copy_tree(source, root)
        install(root, HOST_PACKAGES)
        run_inside(root, ["sh", "-c", _USERS])
        shutil.copytree(_HOST_FILES, root, dirs_exist_ok=True)


def _machine_mirror() -> list[str]:
    """The machine's own Debian mirror, or nothing for debootstrap's default."""
    if not shutil.which("apt-get"):
        return []
    question = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
    filters = ["Created-By: Packages", f"Codename: {SUITE}", "Component: main"]
    return attempt([*question, *filters]).stdout.split()[:1]
