"""The lab itself, run for real: a second lab beside the usual one, so nothing else is disturbed."""

import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import Host, Lab, LabError, processes
from lab.layout import Site

NUMBER = 9
SECONDS = 30.0
IP_FREEBIND = 15  # socket.IP_FREEBIND came with a later Python


@pytest.fixture(scope="module")
def before() -> dict[str, object]:
    return machine_state()


@pytest.fixture(scope="module")
def lab(before: dict[str, object]) -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TANDEM_LAB_NUMBER", str(NUMBER))
        lab = Lab.up(hosts=3)
        yield lab
        lab.down()


@pytest.fixture
def hosts(lab: Lab) -> Iterator[tuple[Host, ...]]:
    """The hosts; faults and containers of a test are gone after it."""
    yield lab.hosts
    lab.heal()
    for host in lab.hosts:
        host.ssh("docker ps --all --quiet | xargs --no-run-if-empty docker rm --force")


def machine_state() -> dict[str, object]:
    """What a lab makes on the machine: all of it is gone after `down`."""

    def lines(*command: str) -> list[str]:
        result = subprocess.run(command, capture_output=True, text=True, check=True)
        # Counters, and the order of interfaces, change by themselves.
        return sorted(re.sub(r"\[\d+:\d+\]|^\d+: ", "", line) for line in result.stdout.split("\n"))

    return {
        "namespaces": lines("ip", "netns", "list"),
        "links": lines("ip", "-brief", "link"),
        "mounts": sorted(Path("/proc/self/mounts").read_text().splitlines()),
        "firewall": [line for line in lines("iptables-save") if not line.startswith("#")],
        "loops": lines("losetup", "--list", "--noheadings", "--output", "BACK-FILE"),
        "cgroups": sorted(str(path) for path in Path("/sys/fs/cgroup").glob("*/tandem-lab*")),
        "folders": sorted(str(path) for path in Path("/var/lib").glob("tandem-lab*")),
    }


def eventually(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not within {SECONDS:.0f} s: {what}"
        time.sleep(0.1)


def succeeds(host: Host, command: str, *, alias: str = "") -> str:
    result = host.ssh(command, alias=alias)
    assert result.returncode == 0, f"{host.name}: {command}: {result.stderr}"
    return result.stdout.strip()


def answers(source: Host, target: Host) -> bool:
    return source.ssh(f"ping -c 1 -W 1 {target.address}").returncode == 0


def echoes_heard(host: Host) -> int:
    """How many pings have arrived at a host, answered or not."""
    counter = succeeds(host, "nstat --zeros --ignore --noupdate IcmpInEchos")
    return int(counter.splitlines()[-1].split()[1])


def command_line(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lab", *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("alias", ["", "tandem", "jump"])
def test_docker_answers_over_ssh(hosts: tuple[Host, ...], alias: str) -> None:
    for host in hosts:
        assert succeeds(host, "hostname; docker version >/dev/null", alias=alias) == host.name


def test_the_jump_alias_comes_from_another_host(hosts: tuple[Host, ...]) -> None:
    came = succeeds(hosts[1], "echo $SSH_CONNECTION", alias="jump").split()
    assert (came[0], came[2], came[3]) == (hosts[0].address, hosts[1].address, "2222")


def test_docker_refuses_a_user_outside_its_group(hosts: tuple[Host, ...]) -> None:
    assert succeeds(hosts[0], "id -un", alias="visitor") == "visitor"
    refused = hosts[0].ssh("docker version", alias="visitor")
    assert refused.returncode == 1
    assert "permission denied" in refused.stderr


def test_a_wrong_host_key_is_refused(hosts: tuple[Host, ...]) -> None:
    refused = hosts[0].ssh("true", alias="stranger")
    assert refused.returncode == 255
    assert "Host key verification failed" in refused.stderr


def test_hosts_see_nothing_of_the_machine(hosts: tuple[Host, ...]) -> None:
    here = Path(__file__)
    assert hosts[0].ssh(f"test -e {here}").returncode == 1
    seen = succeeds(hosts[0], "ps -e -o comm=").split()
    assert "dockerd" in seen
    assert Path(sys.executable).name not in seen


def test_containers_of_the_hosts_reach_each_other(lab: Lab, hosts: tuple[Host, ...]) -> None:
    run = f"docker run --detach --name web --gpus all --network host {lab.small_image}"
    for host in hosts:
        succeeds(host, f"{run} sh -c 'hostname > /tmp/index.html; exec httpd -f -p 8000 -h /tmp'")
    for source in hosts:
        for target in hosts:
            get = f"docker exec web wget -q -O - http://{target.address}:8000/"
            eventually(
                lambda s=source, g=get, t=target: s.ssh(g).stdout.strip() == t.name,  # type: ignore[misc]
                f"{source.name} gets the page of {target.name}",
            )


def test_shared_memory_is_the_hosts_own(lab: Lab, hosts: tuple[Host, ...]) -> None:
    succeeds(hosts[0], f"docker run --rm --ipc host {lab.small_image} touch /dev/shm/mine")
    assert succeeds(hosts[0], "ls /dev/shm") == "mine"
    assert succeeds(hosts[1], "ls /dev/shm") == ""
    assert not Path("/dev/shm/mine").exists()


def test_the_image_and_the_model_are_there(lab: Lab, hosts: tuple[Host, ...]) -> None:
    assert re.fullmatch(
        rf"10\.77\.{NUMBER}\.254:5000/vllm-cpu:\S+@sha256:[0-9a-f]{{64}}", lab.image
    )
    for host in hosts:
        files = succeeds(host, "ls /srv/models/tiny-qwen3", alias="visitor").split()
        assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(files)


def test_killed_containers_stay_down(lab: Lab, hosts: tuple[Host, ...]) -> None:
    run = "docker run --detach --name victim --restart unless-stopped"
    succeeds(hosts[0], f"{run} {lab.small_image} sleep 600")
    assert [p.command for p in lab.processes(hosts[0])] == [("sleep", "600")]
    assert lab.processes(hosts[1]) == []
    lab.kill(hosts[0], "victim")
    eventually(lambda: lab.processes(hosts[0]) == [], "the container's process is gone")
    assert succeeds(hosts[0], "docker inspect --format '{{.State.Status}}' victim") == "exited"
    with pytest.raises(LabError, match="victim"):
        lab.kill(hosts[0], "victim")


def test_partition_from_all(lab: Lab, hosts: tuple[Host, ...]) -> None:
    cut, *others = hosts
    lab.partition(cut)
    for other in others:
        assert not answers(cut, other)
        assert not answers(other, cut)
    assert answers(others[0], others[1])
    assert cut.docker_answers()
    assert not lab.is_healthy()
    lab.heal(cut)
    assert all(answers(a, b) for a in hosts for b in hosts)
    assert lab.is_healthy()


def test_partition_from_one_cuts_containers_too(lab: Lab, hosts: tuple[Host, ...]) -> None:
    cut, other, third = hosts
    ping = f"docker run --rm {lab.small_image} ping -c 1 -W 1"
    succeeds(cut, f"{ping} {other.address}")
    lab.partition(cut, others=[other])
    assert not answers(cut, other)
    assert not answers(other, cut)
    assert cut.ssh(f"{ping} {other.address}").returncode == 1
    succeeds(cut, f"{ping} {third.address}")
    assert answers(cut, third)
    assert answers(third, cut)


def test_one_way_partition_drops_what_arrives(lab: Lab, hosts: tuple[Host, ...]) -> None:
    cut, other, third = hosts
    lab.partition(cut, others=[other], one_way=True)
    heard = {host.name: echoes_heard(host) for host in hosts}
    assert not answers(cut, other)
    assert not answers(other, cut)
    assert echoes_heard(other) == heard[other.name] + 1
    assert echoes_heard(cut) == heard[cut.name]
    assert answers(third, cut)


def test_a_cut_link_cuts_ssh_too(lab: Lab, hosts: tuple[Host, ...]) -> None:
    cut, other, _ = hosts
    lab.cut_link(cut)
    assert not answers(other, cut)
    with pytest.raises(TimeoutError):
        socket.create_connection((cut.address, 22), timeout=1)
    lab.heal()
    assert cut.docker_answers()
    assert answers(cut, other)


def test_power_cut(lab: Lab, hosts: tuple[Host, ...]) -> None:
    host = hosts[0]
    image = lab.small_image
    succeeds(host, f"docker run -d --name back --restart unless-stopped {image} sleep 600")
    succeeds(host, f"docker run -d --name gone {image} sleep 600")
    succeeds(host, "echo kept > /srv/kept; echo lost > /run/lost")
    pids = {process.pid for process in lab.processes(host)}
    assert len(pids) == 2

    lab.power_cut(host, off=True)
    alive = {process.pid for process in processes.all_processes()}
    assert not pids & alive
    assert host.init() is None
    assert not answers(hosts[1], host)
    assert "off" in command_line("status").stdout

    lab.power_on(host)
    state = "docker inspect --format '{{.State.Status}}'"
    eventually(lambda: host.ssh(f"{state} back").stdout.strip() == "running", "it came back")
    assert succeeds(host, f"{state} gone") == "exited"
    assert succeeds(host, "cat /srv/kept; ls /run/lost 2>/dev/null || true") == "kept"


def test_peers_are_not_told_of_a_power_cut(lab: Lab, hosts: tuple[Host, ...]) -> None:
    host, peer, _ = hosts
    # sshd waits two minutes for a client that says nothing.
    connect = f"exec 3<>/dev/tcp/{host.address}/22; exec sleep 90"
    succeeds(peer, f"nohup bash -c {shlex.quote(connect)} >/dev/null 2>&1 &")
    established = "ss -Htn state established dport = :22"
    eventually(lambda: peer.ssh(established).stdout != "", "a connection between the hosts")
    lab.power_cut(host)
    assert peer.ssh(established).stdout != ""
    succeeds(peer, "pkill sleep")


def test_up_again_is_quick_and_changes_nothing(lab: Lab, hosts: tuple[Host, ...]) -> None:
    inits = [host.init() for host in hosts]
    began = time.monotonic()
    result = command_line("up", "--hosts", "3")
    assert result.returncode == 0, result.stderr
    assert "is up already" in result.stderr
    assert lab.image in result.stdout
    assert time.monotonic() - began < 10
    assert [host.init() for host in hosts] == inits


def test_status_and_errors_are_plain(lab: Lab, hosts: tuple[Host, ...]) -> None:
    succeeds(hosts[1], f"docker run -d --name shown {lab.small_image} sleep 600")
    table = command_line("status").stdout.splitlines()
    assert re.fullmatch(rf"lab-2\s+10\.77\.{NUMBER}\.2\s+up\s+up\s+-\s+shown \(running\)", table[2])
    wrong = command_line("power-cut", "lab-7")
    assert (wrong.returncode, wrong.stderr) == (
        1,
        "lab: no host 'lab-7': there is lab-1, lab-2, lab-3\n",
    )
    full = command_line("fill-disk", "lab-1", "/srv", "--leave", "100")
    assert full.returncode == 1
    assert "up --disk" in full.stderr


def test_leftovers_of_a_crash_are_cleaned(lab: Lab, hosts: tuple[Host, ...]) -> None:
    # As after an interrupted start: one host without a namespace's name, no record, no registry.
    pids = {process.pid for host in hosts if (process := host.init())}
    site = lab.site
    subprocess.run(["ip", "netns", "delete", site.namespace(1)], check=True)
    (site.state / "lab.json").unlink()
    registry = ("serve", str(site.state / "registry.json"))
    processes.kill([p.pid for p in processes.all_processes() if p.command[-2:] == registry])

    again = Lab.up(hosts=3)
    assert again.hosts == lab.hosts
    assert again.is_healthy()
    assert not pids & {process.pid for process in processes.all_processes()}


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    monkeypatch.setenv("TANDEM_LAB_NUMBER", str(NUMBER - 1))
    small = Lab.up(hosts=1, disk_gib=2)
    try:
        host = small.hosts[0]
        free = "df --output=avail --block-size=1M /srv | tail -1"
        before = int(succeeds(host, free))
        assert before < 2048
        small.fill_disk(host, "/var/lib/docker", leave_mib=50)
        assert 45 <= int(succeeds(host, free)) <= 50
        assert host.ssh("head -c 60M /dev/zero > /srv/more").returncode == 1
        succeeds(host, "rm /srv/more")
        small.heal()
        assert int(succeeds(host, free)) >= before - 5
        with pytest.raises(LabError, match="in memory"):
            small.fill_disk(host, "/dev/shm", leave_mib=50)
    finally:
        small.down()


def test_addresses_in_use_by_others_are_named(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    monkeypatch.setenv("TANDEM_LAB_NUMBER", str(NUMBER - 1))
    site = Site(NUMBER - 1)
    subprocess.run(["ip", "link", "add", "other0", "type", "bridge"], check=True)
    try:
        subprocess.run(["ip", "address", "add", f"{site.gateway}/32", "dev", "other0"], check=True)
        refused = command_line("up", "--hosts", "1")
    finally:
        subprocess.run(["ip", "link", "delete", "other0"], check=True)
    assert refused.returncode == 1
    network = f"the lab's network {site.subnet} is in use: other0 has {site.gateway}/32"
    assert f"lab: {network}\n" in refused.stderr
    assert not site.state.exists()

    with socket.socket() as other:
        # An address that the machine does not have yet.
        other.setsockopt(socket.SOL_IP, IP_FREEBIND, 1)
        # Connections of an earlier lab may still be remembered.
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind((site.gateway, 5000))
        other.listen()
        refused = command_line("up", "--hosts", "1")
    assert refused.returncode == 1
    assert refused.stderr.endswith("lab: the registry's port 5000 is taken by another program\n")
    assert command_line("down").returncode == 0


def test_another_user_is_told_what_is_missing() -> None:
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    refused = subprocess.run(
        [*nobody, "/usr/bin/python3", "-B", "-m", "lab", "status"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "lab: the lab makes network namespaces and mounts: run it as root\n"


def test_down_leaves_nothing(lab: Lab, before: dict[str, object]) -> None:
    succeeds(lab.hosts[0], f"docker run -d --restart always {lab.small_image} sleep 600")
    lab.partition(lab.hosts[1])
    lab.power_cut(lab.hosts[2], off=True)
    pids = {process.pid for host in lab.hosts for process in lab.processes(host)}
    pids |= {process.pid for host in lab.hosts if (process := host.init())}
    assert len(pids) == 3
    assert machine_state() != before

    lab.down()
    assert machine_state() == before
    left = processes.all_processes()
    assert not pids & {process.pid for process in left}
    names = (Site(NUMBER).bridge, str(Site(NUMBER).state))
    assert not [p for p in left if any(name in word for word in p.command for name in names)]

    again = command_line("status")
    assert (again.returncode, again.stdout) == (1, "")
    assert "no lab is up" in again.stderr
    assert command_line("down").returncode == 0
