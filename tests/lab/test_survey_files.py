"""The survey on real hosts, model and image: what is staged is found, and left alone."""

from __future__ import annotations

import hashlib
import json
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from tests.lab.surveyed import Stack, staged, told

if TYPE_CHECKING:
    from pathlib import Path

    from lab import Lab

MODEL = "/srv/models/tiny-qwen3"
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


@pytest.fixture
def stack(hosts: Lab, tmp_path: Path) -> Stack:
    return Stack.of(hosts, tmp_path)


def pushed_for_arm(image: str) -> str:
    """Push an image again as one for ARM and return its reference with the digest."""
    registry, _, name = image.partition("/")
    repository, _, tag = name.partition(":")
    base = f"http://{registry}/v2/{repository}"
    manifest = json.load(asked(f"{base}/manifests/{tag}", headers={"Accept": MANIFEST}))
    config = json.load(asked(f"{base}/blobs/{manifest['config']['digest']}"))
    data = json.dumps(config | {"architecture": "arm64"}).encode()
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    place = asked(f"{base}/blobs/uploads/", method="POST").headers["Location"]
    blob = {"Content-Type": "application/octet-stream"}
    asked(f"{place}&digest={digest}", data=data, headers=blob, method="PUT")
    manifest["config"] |= {"size": len(data), "digest": digest}
    made = asked(
        f"{base}/manifests/arm64",
        data=json.dumps(manifest).encode(),
        headers={"Content-Type": MANIFEST},
        method="PUT",
    )
    return f"{registry}/{repository}:arm64@{made.headers['Docker-Content-Digest']}"


def asked(url: str, **request: Any) -> Any:
    """Return what the lab's registry answers; a proxy of the machine is not for its address."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return opener.open(urllib.request.Request(url, **request), timeout=10)


def test_an_image_for_other_processors(stack: Stack, hosts: Lab) -> None:
    stack.config["tandem:hosts"] = stack.config["tandem:hosts"][:1]
    stack.config["tandem:image"]["reference"] = pushed_for_arm(hosts.small_image)
    code, found = stack.survey()
    assert code == 3
    words = ("is made for linux/arm64, and lab-1 is linux/amd64",)
    told(found, "image-architecture", *words)


def test_a_disk_that_is_too_small_for_the_image(stack: Stack, hosts: Lab) -> None:
    # The folder of Docker's data is on the lab's disk; for a moment it is one of 500 MiB.
    mounted = "mount -t tmpfs -o size=500m small /var/lib/docker"
    with staged(hosts.hosts[1], mounted, "umount /var/lib/docker"):
        code, found = stack.survey()
    assert code == 3
    told(found, "disk-too-small", "lab-2 (/var/lib/docker) has 0.49 GiB free of 0.49 GiB")


def test_a_disk_that_is_too_small_for_the_weights(stack: Stack) -> None:
    stack.config["tandem:hosts"] = stack.config["tandem:hosts"][:1]
    stack.config["tandem:serve"]["tensorParallel"] = 1
    silent = {"hub": True, "endpoint": "http://127.0.0.1:1"}
    stack.config["tandem:model"] |= {"source": silent, "revision": "c" * 40, "weights": "4096GiB"}
    code, found = stack.survey()
    assert code == 3
    said = "the model takes 4096.00 GiB, 0.00 GiB of it are there, and Docker's disk on lab-1 ("
    assert found["disk-too-small"]["message"].startswith(said)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ("truncate -s -1 model.safetensors", "model-differs", "bytes on lab-2"),
        ("rm model.safetensors", "model-differs", "missing on lab-2"),
        ("printf 'version https://x' > model.safetensors", "weights-broken", "is 17 bytes"),
        ("rm config.json", "model-missing", "lab-2 has no /srv/models/copy/config.json"),
    ],
)
def test_a_model_that_is_another_one_on_one_host(
    stack: Stack, hosts: Lab, change: str, code: str, words: str
) -> None:
    stack.config["tandem:model"]["source"]["path"] = "/srv/models/copy"
    first, second = hosts.hosts
    copied, removed = f"cp -r {MODEL} /srv/models/copy", "rm -r /srv/models/copy"
    with staged(first, copied, removed), staged(second, copied, removed):
        assert second.ssh(f"cd /srv/models/copy && {change}").returncode == 0
        status, found = stack.survey()
    assert status == 3
    told(found, code, words)


def test_a_config_that_is_another_one_on_one_host(stack: Stack, hosts: Lab) -> None:
    stack.config["tandem:model"]["source"]["path"] = "/srv/models/copy"
    first, second = hosts.hosts
    copied, removed = f"cp -r {MODEL} /srv/models/copy", "rm -r /srv/models/copy"
    changed = f"{copied} && sed -i 's/64/65/' /srv/models/copy/config.json"
    with staged(first, copied, removed), staged(second, changed, removed):
        status, found = stack.survey()
    assert status == 0
    told(found, "config-differs", "config.json of lab-2 says something else than that of lab-1")


def test_a_tag_that_is_pushed_again_is_told_and_a_digest_is_not_moved_by_it(
    stack: Stack, hosts: Lab
) -> None:
    first, second = hosts.hosts
    name = f"{hosts.small_image.partition('/')[0]}/moving:1"
    image = stack.config["tandem:image"]
    remove = f"docker rm made; docker rmi --force $(docker image ls -q {name}) {hosts.small_image}"

    def push(content: str) -> str:
        """Push other content under the same name and return its digest."""
        done = first.ssh(
            f"docker commit --change 'LABEL content={content}' made {name} && docker push -q {name}"
            f" && docker inspect --format '{{{{index .RepoDigests 0}}}}' {name}"
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()[-1].partition("@")[2]

    with (
        staged(first, f"docker create --name made {hosts.small_image} true", remove),
        staged(second, "true", remove),
    ):
        old = push("old")
        assert second.ssh(f"docker pull {name}").returncode == 0
        image["reference"] = name
        code, found = stack.survey()
        assert code == 0
        told(found, "tag-not-pinned", old)

        new = push("new")
        code, found = stack.survey()
        assert code == 0
        assert found.keys() == {"tag-not-pinned", "image-skew"}
        assert new in found["tag-not-pinned"]["message"]
        assert "on lab-1" in found["image-skew"]["message"]

        image["reference"] = f"{name}@{old}"
        code, found = stack.survey()
        assert code == 0
        told(found, "image-skew", "on lab-1", "on lab-2")
