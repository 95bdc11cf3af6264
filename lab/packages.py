"""The Debian packages of the machine itself."""

import os
import shutil
from pathlib import Path

from lab.errors import LabError
from lab.progress import say, step
from lab.shell import run

# A program that shows the package is there, and the package.
_PACKAGES = {
    "debootstrap": "debootstrap",
    "pigz": "pigz",
    "docker-registry": "docker-registry",
    "ip": "iproute2",
    "iptables": "iptables",
    "mkfs.ext4": "e2fsprogs",
    "nsenter": "util-linux",
    "skopeo": "skopeo",
    "ssh": "openssh-client",
    "tar": "tar",
}
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_SERVICE_POLICY = Path("/usr/sbin/policy-rc.d")


def missing_packages() -> list[str]:
    """Return the packages to install, by the programs that are not on PATH."""
    missing = [package for program, package in _PACKAGES.items() if not shutil.which(program)]
    if not _KEYRING.exists():
        missing.append("debian-archive-keyring")
    return missing


def install() -> None:
    """Install the packages that are missing, without starting any of their services.

    Raises LabError when the machine has no apt-get or a package cannot be installed.
    """
    missing = missing_packages()
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise LabError(f"install these first (no apt-get here to do it): {', '.join(missing)}")
    say(f"missing: {', '.join(missing)}")
    # Exit code 101 tells Debian's install scripts to leave the services alone.
    ours = not _SERVICE_POLICY.exists()
    if ours:
        _SERVICE_POLICY.write_text("#!/bin/sh\nexit 101\n")
        _SERVICE_POLICY.chmod(0o755)
    try:
        with step("installing Debian packages"):
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            run(["apt-get", "update", "-q"], environment=quiet)
            run(
                ["apt-get", "install", "-q", "-y", "--no-install-recommends", *missing],
                environment=quiet,
            )
    finally:
        if ours:
            _SERVICE_POLICY.unlink()
