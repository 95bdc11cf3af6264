"""Running programs inside a root file system that is being made."""

import os
from collections.abc import Sequence
from pathlib import Path

from lab.layout import CACHE
from lab.shell import CONTAINED, run

_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_PIP = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT")

# Mounted over /tmp inside, so that nothing of the machine's settings stays in the root file
# system; the mounts live in a namespace that goes away with the program.
_PREPARE = """
set -eu
root=$1 work=$2
shift 2
mount --bind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mkdir "$root/tmp/machine" "$root/tmp/machine/work"
for file in /etc/resolv.conf /etc/pip.conf "$HOME/.config/pip/pip.conf"; do
    [ ! -f "$file" ] || cp "$file" "$root/tmp/machine/"
done
if [ -e "$root/etc/resolv.conf" ] && [ -f /etc/resolv.conf ]; then
    mount --bind "$root/tmp/machine/resolv.conf" "$root/etc/resolv.conf"
fi
if [ -f "$SSL_CERT_FILE" ] && [ -f "$root/etc/ssl/certs/ca-certificates.crt" ]; then
    mount --bind "$SSL_CERT_FILE" "$root/etc/ssl/certs/ca-certificates.crt"
fi
mount --bind "$work" "$root/tmp/machine/work"
export HOME=/root
exec chroot "$root" "$@"
"""


def run_inside(root: Path, command: Sequence[str], *, work: Path | None = None) -> str:
    """Run a program in a root file system with the machine's network settings, return its output.

    The folder work (the cache's own when None) is at /tmp/machine/work inside. Raises LabError
    when the program fails.
    """
    work = work or CACHE / "downloads"
    work.mkdir(parents=True, exist_ok=True)
    return run(
        [*CONTAINED, f"--mount-proc={root}/proc", "sh", "-c", _PREPARE, "sh", root, work, *command],
        environment=_environment(),
    )


def _environment() -> dict[str, str]:
    passed = {name: os.environ[name] for name in (*_PROXIES, *_PIP) if name in os.environ}
    return {
        "PATH": "/opt/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": os.environ.get("HOME", "/root"),
        "LC_ALL": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
        "SSL_CERT_FILE": os.environ.get("SSL_CERT_FILE", str(_CERTIFICATES)),
        "PIP_CERT": str(_CERTIFICATES),
        "PIP_CONFIG_FILE": "/tmp/machine/pip.conf",
        "PIP_CACHE_DIR": "/tmp/machine/work/pip",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        # pip unpacks gigabytes here: not into memory.
        "TMPDIR": "/tmp/machine/work",
        "PYTHONDONTWRITEBYTECODE": "1",
        **passed,
    }
