"""`make bench-survey`: the time of a survey of 2 and of 16 hosts, and its connections.

Starts a lab of 16 hosts of its own (number 3 unless TANDEM_LAB_NUMBER says another) and takes it
down. Both sizes are looked at three times, in turn, each time over new connections; medians and
their ratio are printed, and the time that connecting takes alone: in the lab one machine computes
both sides of every key exchange.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from lab import Lab
from tandem.settings import Settings
from tandem.survey import look_at_hosts
from tests.builders import load

RUNS = 3
SIZES = (2, 16)
LAB_NUMBER = "3"


def main() -> None:
    """Measure and print."""
    os.environ.setdefault("TANDEM_LAB_NUMBER", LAB_NUMBER)
    lab = Lab.up(max(SIZES))
    seconds: dict[int, list[float]] = {size: [] for size in SIZES}
    connecting: dict[int, list[float]] = {size: [] for size in SIZES}
    connections = dict.fromkeys(SIZES, 0)
    try:
        for _ in range(RUNS):
            for size in SIZES:
                settings = _settings(lab, size)
                seconds[size].append(_timed(settings))
                connections[size] = max(connections[size], _most_connections(lab))
                _hang_up(settings)
                connecting[size].append(_connected(settings))
                _hang_up(settings)
    finally:
        lab.down()
    for size, taken in seconds.items():
        print(
            f"{size:2} hosts  median {statistics.median(taken):.2f} s (goal 3), "
            f"connecting alone {statistics.median(connecting[size]):.2f} s, "
            f"at most {connections[size]} connection a host (goal 1)"
        )
    two, sixteen = (statistics.median(taken) for taken in seconds.values())
    print(f"ratio     {sixteen / two:.2f}  (goal 1.5)")


def _settings(lab: Lab, size: int) -> Settings:
    options = ["-F", str(lab.ssh_config)]
    hosts = [
        {"name": host.name, "ssh": host.name, "sshOptions": options, "address": host.address}
        for host in lab.hosts[:size]
    ]
    return load(
        {
            "hosts": hosts,
            "image": {"reference": lab.small_image},
            "model": {"id": "tandem/tiny-qwen3", "source": {"path": "/srv/models/tiny-qwen3"}},
            "serve": {"tensorParallel": size},
            "rdma": False,
        }
    )


def _timed(settings: Settings) -> float:
    began = time.monotonic()
    facts = look_at_hosts(settings, "bench")
    taken = time.monotonic() - began
    problems = [host.problem for host in facts.hosts if host.problem]
    if problems:
        raise RuntimeError(problems[0])
    return taken


def _connected(settings: Settings) -> float:
    """Return how long it takes to connect to all hosts at once and do nothing there."""
    began = time.monotonic()
    with ThreadPoolExecutor(max_workers=len(settings.hosts)) as pool:
        list(pool.map(lambda host: host.target.run("true"), settings.hosts))
    return time.monotonic() - began


def _most_connections(lab: Lab) -> int:
    """Return the connections to port 22 of the host that has most of them."""
    shown = subprocess.run(
        ["ss", "-Htn", "state", "established"], capture_output=True, text=True, check=True
    ).stdout
    peers = re.findall(r" (\d+\.\d+\.\d+\.\d+):22\b", shown)
    return max(peers.count(host.address) for host in lab.hosts)


def _hang_up(settings: Settings) -> None:
    """Close the connections that are kept for the next command."""
    for host in settings.hosts:
        target = host.target
        command = ["ssh", *target.all_options, "-O", "exit", target.destination]
        subprocess.run(command, capture_output=True, check=False)


if __name__ == "__main__":
    main()
