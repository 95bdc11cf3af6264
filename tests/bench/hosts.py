"""`up` over 2, 4, 8 and 16 hosts: time, and SSH connections of each host.

Real Docker and sshd; Ray and vLLM are the lab's stand-in, so what is measured is Tandem's own work.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab import Host, Lab
from tests.bench.measure import LAB_NUMBER, RUNS, succeed, timed
from tests.project import Project

SIZES = (2, 4, 8, 16)
STACK = "hosts"
MODEL = "/srv/models/deep"
"""The lab's tiny model with as many layers in its config.json as there are stages."""
_DEEP = f"""
cp -r /srv/models/tiny-qwen3 {MODEL} && sed -i -E \\
    's/("num_hidden_layers": )[0-9]+/\\1{max(SIZES)}/' {MODEL}/config.json
"""


@dataclass(frozen=True)
class Size:
    """So many hosts, and what was measured with them."""

    hosts: int
    up: float
    """Median of seconds."""
    again: float
    """Median of seconds of an `up` with nothing to do."""
    connections: int
    """New connections of one `up`, at the host that had most."""


def measure() -> list[Size]:
    """Return what each size takes, in a lab of its own."""
    os.environ["TANDEM_LAB_NUMBER"] = LAB_NUMBER
    lab = Lab.up(max(SIZES))
    try:
        for host in lab.hosts:
            host.ssh(_DEEP)
        return [_size(lab, lab.hosts[:count]) for count in SIZES]
    finally:
        lab.down()
        del os.environ["TANDEM_LAB_NUMBER"]


def table(sizes: list[Size]) -> str:
    """Return the sizes as a table in Markdown."""
    head = "| hosts | `up`, s | by 2 hosts | `up` again, s | by 2 hosts | connections a host |"
    lines = [head, "| --: | --: | --: | --: | --: | --: |"]
    two = sizes[0]
    lines += [
        f"| {size.hosts} | {size.up:.1f} | {size.up / two.up:.2f} "
        f"| {size.again:.1f} | {size.again / two.again:.2f} | {size.connections} |"
        for size in sizes
    ]
    return "\n".join(lines)


def _size(lab: Lab, hosts: tuple[Host, ...]) -> Size:
    ups, again, connections = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        project = _project(lab, hosts, Path(folder) / "project")
        for _ in range(RUNS):
            before = [_accepted(host) for host in hosts]
            ups.append(timed(lambda: succeed(project.up())))
            # The question itself goes over a connection of the test's own.
            new = [_accepted(host) - count - 1 for host, count in zip(hosts, before, strict=True)]
            connections.append(max(new))
            again.append(timed(lambda: succeed(project.up())))
            succeed(project.pulumi("destroy", "--yes", "--skip-preview"))
    return Size(len(hosts), statistics.median(ups), statistics.median(again), max(connections))


def _project(lab: Lab, hosts: tuple[Host, ...], folder: Path) -> Project:
    project = Project.copy(folder, STACK, "lab")
    options = ["-F", str(lab.ssh_config)]
    declared = [
        {"name": host.name, "ssh": host.name, "sshOptions": options, "address": host.address}
        for host in hosts
    ]
    project.change("hosts", declared)
    project.change("image.reference", lab.stand_in_image)
    project.change("model.source.path", MODEL)
    project.change("serve.tensorParallel", 1)
    project.change("serve.pipelineParallel", len(hosts))
    return project


def _accepted(host: Host) -> int:
    return int(host.ssh("grep -c '^Accepted ' /var/log/sshd.log").stdout)
