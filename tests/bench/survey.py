"""The time of a survey of 2 and of 16 hosts, and its connections, in a lab of its own.

Both sizes are looked at in turn, each time over new connections. What connecting takes alone is
measured, too: in the lab one machine computes both sides of every key exchange.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from lab import Lab
from tandem.settings import Settings
from tandem.survey import look_at_hosts
from tests.bench.measure import LAB_NUMBER, RUNS, timed
from tests.builders import load
from tests.shell import hang_up

SIZES = (2, 16)


def measure() -> str:
    """Return a table in Markdown."""
    os.environ["TANDEM_LAB_NUMBER"] = LAB_NUMBER
    lab = Lab.up(max(SIZES))
    seconds: dict[int, list[float]] = {size: [] for size in SIZES}
    connecting: dict[int, list[float]] = {size: [] for size in SIZES}
    connections = dict.fromkeys(SIZES, 0)
    try:
        for _ in range(RUNS):
            for size in SIZES:
                settings = _settings(lab, size)
                seconds[size].append(timed(partial(_look, settings)))
                connections[size] = max(connections[size], _most_connections(lab))
                _hang_up(settings)
                connecting[size].append(timed(partial(_connect, settings)))
                _hang_up(settings)
    finally:
        lab.down()
        del os.environ["TANDEM_LAB_NUMBER"]
    two, sixteen = (statistics.median(taken) for taken in seconds.values())
    rows = (
        f"| {size} | {statistics.median(taken):.2f} | {statistics.median(connecting[size]):.2f} "
        f"| {connections[size]} |"
        for size, taken in seconds.items()
    )
    head = "| hosts | survey, s (goal 3) | connecting alone, s | connections a host (goal 1) |"
    ratio = f"16 hosts take {sixteen / two:.2f} times as long as 2 (goal 1.5)."
    return "\n".join((head, "| --: | --: | --: | --: |", *rows, "", ratio))


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


def _look(settings: Settings) -> None:
    facts = look_at_hosts(settings, "bench")
    problems = [host.problem for host in facts.hosts if host.problem]
    if problems:
        raise RuntimeError(problems[0])


def _connect(settings: Settings) -> None:
    """Connect to all hosts at once and do nothing there."""
    with ThreadPoolExecutor(max_workers=len(settings.hosts)) as pool:
        list(pool.map(lambda host: host.target.run("true"), settings.hosts))


def _most_connections(lab: Lab) -> int:
    """Return the connections to port 22 of the host that has most of them."""
    shown = subprocess.run(
        ["ss", "-Htn", "state", "established"], capture_output=True, text=True, check=True
    ).stdout
    peers = re.findall(r" (\d+\.\d+\.\d+\.\d+):22\b", shown)
    return max(peers.count(host.address) for host in lab.hosts)


def _hang_up(settings: Settings) -> None:
    for host in settings.hosts:
        hang_up(host.target)
