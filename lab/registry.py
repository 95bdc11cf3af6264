"""The lab's own image registry: Debian's docker-registry on the bridge's address, plain HTTP."""

import json
import shutil
import socket
import time
import urllib.error
import urllib.request
import urllib.response
from pathlib import Path

from lab import processes
from lab.errors import LabError
from lab.layout import CACHE, REGISTRY_PORT, Site
from lab.shell import detach, run

STORAGE = CACHE / "registry"
_START_SECONDS = 15.0
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def start(site: Site) -> None:
    """Start the registry and wait until it answers.

    Raises LabError when the port is taken or the registry does not answer within 15 seconds.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((site.gateway, REGISTRY_PORT))
        except OSError as error:
            raise LabError(
                f"the registry's port {REGISTRY_PORT} is taken by another program"
            ) from error
    STORAGE.mkdir(parents=True, exist_ok=True)
    _write_config(site)
    detach(["docker-registry", "serve", _config(site)], site.state / "registry.log")
    deadline = time.monotonic() + _START_SECONDS
    while not is_up(site):
        if time.monotonic() > deadline:
            raise LabError(f"the registry does not answer: see {site.state}/registry.log")
        time.sleep(0.1)


def forget(site: Site, repository: str, tags: str, *, but: str) -> None:
    """Delete what only tags of a pattern refer to, but one of them; the registry must not run."""
    repositories = STORAGE / "docker" / "registry" / "v2" / "repositories"
    known = (repositories / repository / "_manifests" / "tags").glob(tags)
    old = [path for path in known if path.name != but]
    if not old:
        return
    for path in old:
        shutil.rmtree(path)
    _write_config(site)
    run(["docker-registry", "garbage-collect", "--delete-untagged", _config(site)])


def stop(site: Site) -> None:
    """Stop the registry, if it runs."""
    ours = ("serve", str(_config(site)))
    processes.kill([p.pid for p in processes.all_processes() if p.command[-2:] == ours])


def is_up(site: Site) -> bool:
    """Tell whether the registry answers."""
    try:
        with _open(f"http://{site.registry}/v2/"):
            return True
    except OSError:
        return False


def digest_of(site: Site, repository: str, tag: str) -> str | None:
    """Return the digest of an image's manifest; None when the registry does not have the image."""
    request = urllib.request.Request(
        f"http://{site.registry}/v2/{repository}/manifests/{tag}",
        headers={"Accept": _MANIFEST},
        method="HEAD",
    )
    try:
        with _open(request) as response:
            digest: str = response.headers["Docker-Content-Digest"]
            return digest
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise LabError(f"the registry answered {error} for {repository}:{tag}") from error


def push(site: Site, layout: Path, repository: str, tag: str) -> None:
    """Copy an OCI layout from disk into the registry."""
    target = f"docker://{site.registry}/{repository}:{tag}"
    run(
        [
            *("skopeo", "copy", "--quiet", "--insecure-policy"),
            *("--format", "v2s2", "--dest-tls-verify=false", f"oci:{layout}", target),
        ]
    )


def _config(site: Site) -> Path:
    return site.state / "registry.json"


def _write_config(site: Site) -> None:
    settings = {
        "version": 0.1,
        "log": {"level": "warn"},
        "storage": {
            "filesystem": {"rootdirectory": str(STORAGE)},
            "delete": {"enabled": True},
        },
        "http": {"addr": site.registry},
    }
    _config(site).write_text(json.dumps(settings))


def _open(request: urllib.request.Request | str) -> "urllib.response.addinfourl":
    # A proxy of the machine is not for addresses of the lab.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    response: urllib.response.addinfourl = opener.open(request, timeout=5)
    return response
