"""`make bench`: the weights gate's hashes beside `sha256sum` on all cores, on the same 4 GiB.

Needs the lab. Both ways run three times, in turn, with the files in the page cache; medians and
their ratio are printed. Then the gate again, which reads nothing, less a container's start.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from lab import Host, Lab
from tandem.gates.hashing import hash_everywhere
from tandem.gates.spec import WeightsFolder
from tandem.ssh import SshTarget

RUNS = 3
FILES, MIB = 8, 512
FOLDER = "/srv/models/bench"
VOLUME, HASHES = "tandem-bench-model", "tandem-bench-hashes"
START = "docker run --rm --network=none --log-driver=none --entrypoint python3"


def main() -> None:
    """Measure and print."""
    lab = Lab.up(2)
    host = lab.hosts[0]
    target = SshTarget(host.name, ("-F", str(lab.ssh_config)))
    folder = WeightsFolder(host.name, target, VOLUME, FOLDER, HASHES)
    summed = f"cd {FOLDER} && ls | xargs -P $(nproc) -n 1 sha256sum >/dev/null"
    _make(host, lab.image)
    try:
        sums, gate = [], []
        for _ in range(RUNS):
            sums.append(_timed(lambda: _run(host, summed)))
            gate.append(_timed(lambda: hash_everywhere([folder], lab.image, None, anew=True)))
        again = [_timed(lambda: hash_everywhere([folder], lab.image, None)) for _ in range(RUNS)]
        start = [_timed(lambda: _run(host, f"{START} {lab.image} -c pass")) for _ in range(RUNS)]
    finally:
        host.ssh(f"docker volume rm {VOLUME} {HASHES}; rm -r {FOLDER}", timeout=600)
    rates = [FILES * MIB / 1024 / statistics.median(seconds) for seconds in (sums, gate)]
    print(f"sha256sum on all cores  {rates[0]:.2f} GiB/s")
    print(f"weights gate            {rates[1]:.2f} GiB/s, with a container's start")
    print(f"ratio                   {rates[1] / rates[0]:.2f}  (goal 0.8)")
    beside = statistics.median(again) - statistics.median(start)
    print(f"nothing has changed     {beside:.2f} s beside a container's start  (goal 1)")


def _make(host: Host, image: str) -> None:
    write = f"head -c {MIB}M /dev/urandom >{FOLDER}/$i.bin"
    bound = f"docker volume create -o type=none -o o=bind -o device={FOLDER} {VOLUME}"
    _run(host, f"docker pull -q {image} && mkdir -p {FOLDER} && {bound}")
    _run(host, f"docker volume create {HASHES}; for i in $(seq {FILES}); do {write}; done; sleep 3")


def _run(host: Host, command: str) -> None:
    done = host.ssh(command, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


def _timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


if __name__ == "__main__":
    main()
