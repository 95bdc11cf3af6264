"""The weights gate's hashes beside `sha256sum` on all cores, on the same 4 GiB.

Both ways run in turn, with the files in the page cache. Then the gate again, which reads nothing,
less a container's start.
"""

from __future__ import annotations

import statistics

from lab import Host, Lab
from tandem.gates.hashing import hash_everywhere
from tandem.gates.spec import WeightsFolder
from tandem.ssh import SshTarget
from tests.bench.measure import RUNS, timed

FILES, MIB = 8, 512
FOLDER = "/srv/models/bench"
VOLUME, HASHES = "tandem-bench-model", "tandem-bench-hashes"
START = "docker run --rm --network=none --log-driver=none --entrypoint python3"


def measure() -> str:
    """Return a table in Markdown."""
    lab = Lab.up(2)
    host = lab.hosts[0]
    target = SshTarget(host.name, ("-F", str(lab.ssh_config)))
    folder = WeightsFolder(host.name, target, VOLUME, FOLDER, HASHES)
    summed = f"cd {FOLDER} && ls | xargs -P $(nproc) -n 1 sha256sum >/dev/null"
    _make(host, lab.image)
    try:
        sums, gate = [], []
        for _ in range(RUNS):
            sums.append(timed(lambda: _run(host, summed)))
            gate.append(timed(lambda: hash_everywhere([folder], lab.image, None, anew=True)))
        again = [timed(lambda: hash_everywhere([folder], lab.image, None)) for _ in range(RUNS)]
        start = [timed(lambda: _run(host, f"{START} {lab.image} -c pass")) for _ in range(RUNS)]
    finally:
        host.ssh(f"docker volume rm {VOLUME} {HASHES}; rm -r {FOLDER}", timeout=600)
    rates = [FILES * MIB / 1024 / statistics.median(seconds) for seconds in (sums, gate)]
    beside = statistics.median(again) - statistics.median(start)
    return "\n".join(
        (
            "| what | measured | goal |\n| :-- | --: | --: |",
            f"| `sha256sum` on all cores | {rates[0]:.2f} GiB/s | |",
            f"| weights gate, with a container's start | {rates[1]:.2f} GiB/s | |",
            f"| ratio | {rates[1] / rates[0]:.2f} | at least 0.8 |",
            f"| the gate again, less a container's start | {beside:.2f} s | 1 s |",
        )
    )


def _make(host: Host, image: str) -> None:
    write = f"head -c {MIB}M /dev/urandom >{FOLDER}/$i.bin"
    bound = f"docker volume create -o type=none -o o=bind -o device={FOLDER} {VOLUME}"
    _run(host, f"docker pull -q {image} && mkdir -p {FOLDER} && {bound}")
    _run(host, f"docker volume create {HASHES}; for i in $(seq {FILES}); do {write}; done; sleep 3")


def _run(host: Host, command: str) -> None:
    done = host.ssh(command, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
