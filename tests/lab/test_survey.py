"""The survey on real hosts: what is staged there is found, with its numbers, and left alone."""

from __future__ import annotations

import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from tandem.ssh import SshTarget
from tests.lab.surveyed import ROOT, Stack, staged, told
from tests.shell import hang_up

if TYPE_CHECKING:
    from pathlib import Path

    from lab import Lab


@pytest.fixture
def stack(hosts: Lab, tmp_path: Path) -> Stack:
    return Stack.of(hosts, tmp_path)


def test_a_clean_lab_has_no_finding_and_stays_as_it_is(stack: Stack) -> None:
    assert stack.survey() == (0, {})


def test_a_host_that_is_not_on_the_network(stack: Stack, hosts: Lab) -> None:
    first, second = hosts.hosts
    for declared in stack.config["tandem:hosts"]:
        # An open connection takes 30 s to notice.
        hang_up(SshTarget(declared["ssh"], tuple(declared["sshOptions"])))
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
