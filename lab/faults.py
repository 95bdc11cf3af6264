"""Faults of network and disk, and the healing of all faults of a host."""

import shlex

from lab import network, services, traffic
from lab.errors import LabError
from lab.host import Host
from lab.shell import attempt, run

_MARK = "tandem-lab-fault"


def partition(host: Host, others: list[Host], *, one_way: bool = False, percent: int = 100) -> None:
    """Drop what passes between a host and others, containers included; ssh from the machine stays.

    With one_way only what the others send to the host is dropped, with a smaller percentage only
    that many packets by chance.
    """
    heal_partition(host)
    chance = ["-m", "statistic", "--mode", "random", "--probability", str(percent / 100)]
    by_chance = chance if percent < 100 else []
    for other in others:
        arriving = ["-s", other.address, *by_chance]
        leaving = ["-d", other.address, *by_chance]
        _iptables(host, "-I", "INPUT", arriving)
        _iptables(host, "-I", "FORWARD", arriving)
        if not one_way:
            _iptables(host, "-I", "OUTPUT", leaving)
            _iptables(host, "-I", "FORWARD", leaving)


def cut_link(host: Host) -> None:
    """Pull the cable of a host out: not even ssh reaches it."""
    network.set_link(host.site, host.index, up=False)


def heal(host: Host) -> None:
    """Undo every fault of a host. One without power stays off."""
    if host.init() is None:
        return
    network.set_link(host.site, host.index, up=True)
    traffic.heal(host)
    heal_partition(host)
    services.heal(host)
    heal_disk(host)


def heal_partition(host: Host) -> None:
    """Remove the firewall rules of partitions from a host."""
    rules = run(_inside(host, ["iptables-save", "-t", "filter"])).splitlines()
    for rule in rules:
        if rule.startswith("-A") and _MARK in rule:
            run(_inside(host, ["iptables", "-w", "-D", *shlex.split(rule)[1:]]))


def dropped_packets(host: Host) -> int:
    """Return how many packets the rules of a host's partition have dropped; 0 without rules."""
    rules = run(_inside(host, ["iptables-save", "--counters", "-t", "filter"])).splitlines()
    # Each begins with its counters, [packets:bytes].
    return sum(int(rule[1:].partition(":")[0]) for rule in rules if _MARK in rule)


def fill_disk(host: Host, path: str, *, leave_mib: int) -> None:
    """Fill the disk that has a path of the host until leave_mib MiB are free.

    Raises LabError when the host has no disk of its own: the machine's disk is not to be filled.
    """
    if not (host.folder / "disk.img").exists():
        raise LabError(f"{host.name} shares the machine's disk: use `up --disk GIB` to fill one")
    heal_disk(host)
    script = f"""
    set -eu
    cd {shlex.quote(path)}
    free=$(df --output=avail -B 1M . | tail -1)
    [ "$(stat -f -c %T .)" != tmpfs ] || {{ echo "{path} is in memory, not on the disk"; exit 1; }}
    fill=$((free - {leave_mib}))
    [ "$fill" -gt 0 ] || {{ echo "only $free MiB are free already"; exit 1; }}
    # The file system takes a little for itself, so the last of it is written.
    fallocate --length "$((fill > 8 ? fill - 8 : fill))MiB" /srv/.{_MARK}
    left=$(($(df --output=avail -B 1M . | tail -1) - {leave_mib}))
    [ "$left" -le 0 ] || head -c "${{left}}M" /dev/zero >>/srv/.{_MARK} || true
    [ {leave_mib} -gt 0 ] || cat /dev/zero >>/srv/.{_MARK} || true
    """
    result = host.ssh(script)
    if result.returncode:
        words = (result.stdout + result.stderr).strip().splitlines()
        raise LabError(f"{host.name}: {words[-1] if words else 'filling the disk failed'}")


def heal_disk(host: Host) -> None:
    """Remove the file that filled a host's disk, if it is there."""
    host.ssh(f"rm -f /srv/.{_MARK}")


def faults_of(host: Host) -> list[str]:
    """Return the faults of a host in words, in no order of weight."""
    if host.init() is None:
        return ["off"]
    found = []
    if not network.link_is_up(host.site, host.index):
        found.append("link down")
    if _MARK in attempt(_inside(host, ["iptables-save", "-t", "filter"])).stdout:
        found.append("partition")
    if traffic.is_slow(host):
        found.append("slow link")
    return [*found, *services.faults_of(host)]


def _iptables(host: Host, action: str, chain: str, match: list[str]) -> None:
    mark = ["-m", "comment", "--comment", _MARK]
    run(_inside(host, ["iptables", "-w", action, chain, *match, *mark, "-j", "DROP"]))


def _inside(host: Host, command: list[str]) -> list[str]:
    return ["nsenter", f"--net={network.NAMESPACES / host.marker}", *command]
