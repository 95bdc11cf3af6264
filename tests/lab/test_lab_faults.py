"""The lab's faults of services, links and memory are really there, and healed by `heal`."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from lab import Host, Lab, LabError, status


@pytest.fixture
def host(hosts: Lab) -> Iterator[Host]:
    """Return the second host; its faults and containers are gone after the test."""
    yield hosts.hosts[1]
    hosts.heal()
    hosts.hosts[1].ssh("docker rm --force held")


def test_a_stopped_dockerd_ends_its_containers_and_starts_again(hosts: Lab, host: Host) -> None:
    run = f"docker run --detach --init --name held --restart always {hosts.small_image} sleep 600"
    assert host.ssh(run).returncode == 0
    hosts.stop_docker(host)
    assert host.ssh("docker ps").returncode != 0
    assert "sleep" not in [process.name for process in host.processes()]
    assert "no dockerd" in status.table(hosts)
    hosts.heal(host)
    assert host.ssh("docker ps --quiet --filter name=held").stdout


def test_a_stopped_sshd_refuses_connections(hosts: Lab, host: Host) -> None:
    hosts.stop_ssh(host)
    assert host.ssh("true").returncode == 255
    assert "no sshd" in status.table(hosts)
    hosts.heal(host)
    assert host.ssh("true").returncode == 0


def test_a_limited_sshd_says_so(hosts: Lab, host: Host) -> None:
    hosts.start_ssh(host, limited=True)
    assert "sshd limited" in status.table(hosts)
    assert host.ssh("true").returncode == 0
    hosts.heal(host)
    assert "sshd limited" not in status.table(hosts)


def test_a_slow_link_takes_its_time(hosts: Lab, host: Host) -> None:
    hosts.slow_link(host, mbit=1)
    began = time.monotonic()
    assert len(host.ssh("head -c 250000 /dev/zero | base64").stdout) > 250000
    assert time.monotonic() - began > 1.5
    assert "slow link" in status.table(hosts)
    hosts.heal(host)
    assert "slow link" not in status.table(hosts)


def test_a_lossy_link_loses_some_packets_and_not_all(hosts: Lab, host: Host) -> None:
    hosts.partition(host, percent=30)
    said = host.ssh(f"ping -c 50 -i 0.02 -W 1 {hosts.hosts[0].address}").stdout
    received = int(said.partition(" packets transmitted, ")[2].split()[0])
    assert 0 < received < 50, said


def test_a_container_gets_no_more_memory_than_it_may(hosts: Lab, host: Host) -> None:
    run = f"docker run --detach --init --name held {hosts.stand_in_image} sleep 600"
    assert host.ssh(run, timeout=120).returncode == 0
    hosts.limit_memory(host, "held", mib=64)
    took = host.ssh("docker exec held python3 -c 'bytes(1) * (1 << 27)'")
    assert took.returncode == 137, took.stderr
    with pytest.raises(LabError, match="No such object: nobody"):
        hosts.limit_memory(host, "nobody", mib=64)


def test_a_stopped_registry_is_healed_with_all_hosts(hosts: Lab, host: Host) -> None:
    hosts.stop_registry()
    assert host.ssh(f"docker pull {hosts.small_image}").returncode != 0
    hosts.heal()
    assert host.ssh(f"docker pull --quiet {hosts.small_image}").returncode == 0
