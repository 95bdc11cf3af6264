"""The survey on real hosts: what is staged there is found, with its numbers, and left alone."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tandem.ssh import SshTarget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab import Lab
    from lab.host import Host

ROOT = Path(__file__).parents[2]
MODEL = "/srv/models/tiny-qwen3"
STATE = (
    "docker ps -aq; docker volume ls -q; docker images -q | sort; ls -laR /srv/models; ls -la /tmp"
)
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


@dataclass
class Stack:
    """The lab's sample stack, pinned, for whichever lab is up."""

    file: Path
    config: dict[str, Any]
    hosts: tuple[Host, ...]

    def survey(self) -> tuple[int, dict[str, dict[str, Any]]]:
        """Return the exit status and the findings by code; one code twice is an error here.

        Nothing on the hosts may be another thing afterwards.
        """
        before = self._state()
        found = self._survey()
        assert self._state() == before
        return found

    def _state(self) -> list[str]:
        return [host.ssh(f"timeout 5 sh -c '{STATE}'").stdout for host in self.hosts]

    def _survey(self) -> tuple[int, dict[str, dict[str, Any]]]:
        self.file.write_text(yaml.safe_dump({"config": self.config}))
        done = subprocess.run(
            [sys.executable, "-m", "tandem", "survey", "--json", self.file],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        findings = json.loads(done.stdout)["findings"]
        by_code = {finding["code"]: finding for finding in findings}
        assert len(by_code) == len(findings), findings
        return done.returncode, by_code


@pytest.fixture
def stack(hosts: Lab, tmp_path: Path) -> Stack:
    """Return a stack that has nothing wrong."""
    data = yaml.safe_load((ROOT / "stacks" / "Pulumi.lab.yaml").read_text())
    config: dict[str, Any] = data["config"]
    config["tandem:image"]["reference"] = hosts.image
    for declared, host in zip(config["tandem:hosts"], hosts.hosts, strict=True):
        declared |= {"address": host.address, "sshOptions": ["-F", str(hosts.ssh_config)]}
    return Stack(tmp_path / "Pulumi.surveyed.yaml", config, hosts.hosts)


@contextmanager
def staged(host: Host, setup: str, cleanup: str) -> Iterator[None]:
    """Run a command on a host for as long as the block runs, and another one after it."""
    try:
        done = host.ssh(setup)
        assert done.returncode == 0, done.stderr
        yield
    finally:
        host.ssh(cleanup)


def hang_up(stack: Stack) -> None:
    """Close the connections to the hosts that are kept for the next command."""
    for host in stack.config["tandem:hosts"]:
        target = SshTarget(host["ssh"], tuple(host["sshOptions"]))
        command = ["ssh", *target.all_options, "-O", "exit", target.destination]
        subprocess.run(command, capture_output=True, check=False)


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


def told(found: dict[str, dict[str, Any]], code: str, *words: str) -> None:
    """Check that this is the only finding and that it has the words."""
    assert list(found) == [code], found
    for word in words:
        assert word in found[code]["message"], found[code]


def test_a_clean_lab_has_no_finding_and_stays_as_it_is(stack: Stack) -> None:
    assert stack.survey() == (0, {})


def test_a_host_that_is_not_on_the_network(stack: Stack, hosts: Lab) -> None:
    first, second = hosts.hosts
    hang_up(stack)  # an open connection takes 30 s to notice
    hosts.cut_link(second)
    stack.hosts = (first,)
    try:
        code, found = stack.survey()
    finally:
        hosts.heal(second)
    assert code == 3
    # From the first host it is not reached either.
    assert found.keys() == {"host-unreachable"}
    assert "no connection to lab-2: ssh: connect to host" in found["host-unreachable"]["message"]


def test_a_host_whose_dockerd_hangs(stack: Stack, hosts: Lab) -> None:
    stopped, goes_on = (f"kill -{name} $(cat /run/docker.pid)" for name in ("STOP", "CONT"))
    stack.hosts = hosts.hosts[:1]
    with staged(hosts.hosts[1], stopped, goes_on):
        code, found = stack.survey()
    assert code == 3
    told(found, "docker-not-usable", "lab-2 can log in but can't use Docker: no answer within 10 s")


def test_a_user_without_docker(stack: Stack) -> None:
    stack.config["tandem:hosts"][1]["ssh"] = "lab-2-visitor"
    code, found = stack.survey()
    assert code == 3
    words = ("lab-2-visitor can log in but can't use Docker", "permission denied while trying to")
    told(found, "docker-not-usable", *words)


def test_an_image_for_other_processors(stack: Stack, hosts: Lab) -> None:
    stack.config["tandem:hosts"] = stack.config["tandem:hosts"][:1]
    stack.config["tandem:image"]["reference"] = pushed_for_arm(hosts.small_image)
    code, found = stack.survey()
    assert code == 3
    words = ("is made for linux/arm64, and lab-1 is linux/amd64",)
    told(found, "image-architecture", *words)


def test_a_firewall_that_blocks_one_direction_is_told_by_the_pair(stack: Stack, hosts: Lab) -> None:
    first, second = hosts.hosts
    rule = f"INPUT -p tcp --syn -s {first.address} -j DROP"
    with staged(second, f"iptables -I {rule}", f"iptables -D {rule}"):
        code, found = stack.survey()
    assert code == 3
    told(found, "path-blocked", "from lab-1 no TCP connection gets to lab-2", "within 2 s")


def test_hosts_that_are_parted_are_told_in_both_directions(stack: Stack, hosts: Lab) -> None:
    hosts.partition(hosts.hosts[1])
    try:
        stack.file.write_text(yaml.safe_dump({"config": stack.config}))
        done = subprocess.run(
            [sys.executable, "-m", "tandem", "survey", stack.file],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        hosts.heal(hosts.hosts[1])
    assert done.returncode == 3
    said = " ".join(done.stdout.split())
    assert "from lab-1 no TCP connection gets to lab-2" in said
    assert "from lab-2 no TCP connection gets to lab-1" in said
    assert said.count("[path-blocked]") == 2


def test_an_address_that_is_not_on_the_host(stack: Stack) -> None:
    stack.config["tandem:hosts"][1]["address"] = "10.99.0.7"
    code, found = stack.survey()
    assert code == 3
    told(found, "address-not-on-host", "lab-2 has no interface with 10.99.0.7")


def test_an_interface_that_is_down(stack: Stack, hosts: Lab) -> None:
    stack.config["tandem:hosts"] = stack.config["tandem:hosts"][:1]
    stack.config["tandem:hosts"][0]["address"] = "10.99.0.1"
    made = "ip link add tandem0 type bridge && ip addr add 10.99.0.1/24 dev tandem0"
    with staged(hosts.hosts[0], made, "ip link del tandem0"):
        code, found = stack.survey()
    assert code == 3
    told(found, "interface-down", "tandem0 of lab-1, which holds 10.99.0.1, is DOWN")


def test_interfaces_with_other_mtus(stack: Stack, hosts: Lab) -> None:
    made, undone = (f"ip link set eth0 mtu {size}" for size in (1400, 1500))
    with staged(hosts.hosts[1], made, undone):
        code, found = stack.survey()
    assert code == 0
    told(found, "mtu-mismatch", "1500 on eth0 of lab-1, 1400 on eth0 of lab-2")


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


def test_a_foreign_container_with_a_name_of_the_deployment(stack: Stack, hosts: Lab) -> None:
    name = "tandem-surveyed-lab-2-ray-worker"
    made = f"docker run --detach --name {name} {hosts.small_image} sleep 600"
    with staged(hosts.hosts[1], made, f"docker rm --force {name}"):
        code, found = stack.survey()
    assert code == 3
    told(found, "name-taken", f"lab-2 has a container {name}")


def test_the_deployments_own_container_and_its_port_are_no_finding(
    stack: Stack, hosts: Lab
) -> None:
    labels = "--label dev.tandem.stack=surveyed --label dev.tandem.ports=8000"
    options = f"--detach --network host {labels} --name tandem-surveyed-lab-1-server"
    made = f"docker run {options} {hosts.small_image} httpd -f -p 8000"
    with staged(hosts.hosts[0], made, "docker rm --force tandem-surveyed-lab-1-server"):
        assert "LISTEN" in hosts.hosts[0].ssh("sleep 1; ss -ltn sport = :8000").stdout
        own = stack.survey()
        stack.config["tandem:serve"]["port"] = 2222
        stack.file = stack.file.with_name("Pulumi.another.yaml")
        code, found = stack.survey()
    assert own == (0, {})
    assert code == 3
    told(found, "port-taken", "something (sshd, pid", "listens on port 2222 of lab-1")


def test_a_port_that_a_container_publishes(stack: Stack, hosts: Lab) -> None:
    made = f"docker run --detach --publish 8000:80 --name web {hosts.small_image} sleep 600"
    with staged(hosts.hosts[0], made, "docker rm --force web"):
        code, found = stack.survey()
    assert code == 3
    told(found, "port-taken", "something (container web) listens on port 8000 of lab-1")


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


def test_a_clock_that_is_off(stack: Stack, hosts: Lab) -> None:
    # All hosts of the lab have the machine's clock: a stand-in for `date` is eleven minutes ahead.
    script = "#!/bin/sh\nexec /usr/bin/date --date='11 minutes' \"$@\"\n"
    place = "/usr/local/bin/date"
    made = f"printf %s {shlex.quote(script)} > {place} && chmod +x {place}"
    with staged(hosts.hosts[1], made, f"rm {place}"):
        code, found = stack.survey()
    assert code == 3
    told(found, "clock-skew", "the clock of lab-2 is 660 s ahead of that of lab-1")


def test_gpus_as_nvidia_smi_shows_them(stack: Stack, hosts: Lab) -> None:
    # A stand-in for nvidia-smi with one GPU of unified memory.
    rows = "0, GPU-1, NVIDIA GB10, 580.95.05, [N/A], [N/A], [N/A], [N/A], 12.1"
    script = f"#!/bin/sh\ncase $* in *query-gpu*) echo '{rows}' ;; esac\n"
    place = "/usr/local/bin/nvidia-smi"
    stack.config["tandem:hosts"][1]["gpus"] = 2
    made = f"printf %s {shlex.quote(script)} > {place} && chmod +x {place}"
    with staged(hosts.hosts[1], made, f"rm {place}"):
        code, found = stack.survey()
    assert code == 3
    told(found, "gpus-missing", "2 GPUs declared, but lab-2 has 1: 0 (NVIDIA GB10)")


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
