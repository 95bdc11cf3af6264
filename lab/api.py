"""A whole lab: bring it up, break it, take it down."""

import fcntl
import json
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import (
    cache,
    debian,
    faults,
    keys,
    machine,
    model,
    network,
    packages,
    registry,
    services,
    traffic,
)
from lab.errors import LabError
from lab.host import Host
from lab.image import build, busybox, recipe, stand_in
from lab.image.publish import Published
from lab.layout import CACHE, MAX_HOSTS, Site
from lab.processes import Process
from lab.progress import say, step

MODEL_FAMILY = "qwen3"
VLLM = Published(recipe.REPOSITORY, recipe.TAG, recipe.digest(), build.pack)
STAND_IN = Published(stand_in.REPOSITORY, stand_in.TAG, stand_in.digest(), stand_in.pack)


@dataclass(frozen=True)
class Lab:
    """A running lab."""

    site: Site
    hosts: tuple[Host, ...]
    disk_gib: int | None
    rootfs: Path  # what the hosts boot from

    @classmethod
    def up(cls, hosts: int = 2, *, disk_gib: int | None = None) -> "Lab":
        """Bring a lab up, or return the one that is up with the same hosts and disks.

        Raises LabError when the machine cannot carry it.
        """
        site = Site.from_environment()
        if not 1 <= hosts <= MAX_HOSTS:
            raise LabError(f"a lab has 1 to {MAX_HOSTS} hosts, not {hosts}")
        machine.check_root()
        packages.install()
        with _alone():
            members = tuple(Host(site, index) for index in range(1, hosts + 1))
            wanted = cls(site, members, disk_gib or machine.needed_disk_gib(site), debian.host())
            if wanted == cls._recorded(site) and wanted.is_healthy():
                say(f"a healthy lab with {hosts} host(s) is up already")
            else:
                _clean(site)
                wanted._start()
            wanted._fill()
            return wanted

    @classmethod
    def running(cls) -> "Lab":
        """Return the lab that is up.

        Raises LabError when there is none.
        """
        machine.check_root()
        lab = cls._recorded(Site.from_environment())
        if lab is None:
            raise LabError("no lab is up: `python3 -m lab up --hosts 2` starts one")
        return lab

    @staticmethod
    def clean(*, purge: bool = False) -> None:
        """Take down whatever any lab of this site left; with purge, the cache goes too."""
        machine.check_root()
        with _alone():
            site = Site.from_environment()
            _clean(site)
            if purge and machine.other_labs(site):
                raise LabError(f"{CACHE} is in use by another lab: it stays")
            if purge:
                shutil.rmtree(CACHE)

    def down(self) -> None:
        """Take the lab down and leave nothing of it but the cache."""
        with _alone():
            _clean(self.site)

    @property
    def image(self) -> str:
        """The reference of the vLLM image with its digest."""
        return VLLM.reference(self.site)

    @property
    def stand_in_image(self) -> str:
        """The reference of the image with a stand-in for Ray and vLLM, with its digest."""
        return STAND_IN.reference(self.site)

    @property
    def small_image(self) -> str:
        """The reference of an image of one megabyte that is a shell and little more."""
        return f"{self.site.registry}/{busybox.REPOSITORY}:{busybox.TAG}"

    @property
    def ssh_config(self) -> Path:
        """The file for `ssh -F`."""
        return self.site.ssh_config

    def host(self, name: str) -> Host:
        """Return a host by its name.

        Raises LabError when the lab has no such host.
        """
        for host in self.hosts:
            if host.name == name:
                return host
        raise LabError(f"no host {name!r}: there is {', '.join(h.name for h in self.hosts)}")

    def is_healthy(self) -> bool:
        """Tell whether the registry and Docker on every host answer, and no fault is staged."""
        whole = registry.is_up(self.site) and not any(faults.faults_of(h) for h in self.hosts)
        return whole and all(host.docker_answers() for host in self.hosts)

    def processes(self, host: Host) -> list[Process]:
        """Return what runs on a host beside sshd, dockerd, containerd and their helpers."""
        return host.processes()

    def kill(self, host: Host, container: str) -> None:
        """Kill a container, which Docker counts as stopped by hand."""
        host.kill(container)

    def power_cut(self, host: Host, *, off: bool = False) -> None:
        """Cut the power of a host; unless off, boot it again and wait until Docker answers."""
        host.power_off()
        if not off:
            self.power_on(host)

    def power_on(self, host: Host) -> None:
        """Boot a host that is off and wait until Docker answers."""
        host.power_on(self.rootfs)
        host.wait_until_up()

    def partition(
        self,
        host: Host,
        *,
        others: Sequence[Host] | None = None,
        one_way: bool = False,
        percent: int = 100,
    ) -> None:
        """Drop what passes between a host and others (None: all others); ssh to it stays.

        With one_way only what the others send to the host is dropped, with a smaller percentage
        only that many packets by chance.
        """
        chosen = [other for other in others or self.hosts if other != host]
        faults.partition(host, chosen, one_way=one_way, percent=percent)

    def dropped_packets(self, host: Host) -> int:
        """Return how many packets the partition of a host has dropped."""
        return faults.dropped_packets(host)

    def cut_link(self, host: Host) -> None:
        """Pull the cable of a host out: not even ssh reaches it."""
        faults.cut_link(host)

    def slow_link(self, host: Host, *, mbit: float) -> None:
        """Let so many Mbit/s pass over the cable of a host, in each direction."""
        traffic.slow(host, mbit)

    def stop_docker(self, host: Host) -> None:
        """Stop dockerd; its containers end with it."""
        services.stop_docker(host)

    def start_docker(self, host: Host) -> None:
        """Start dockerd and wait until it answers."""
        services.start_docker(host)

    def stop_ssh(self, host: Host) -> None:
        """Kill sshd with all its connections."""
        services.stop_ssh(host)

    def start_ssh(self, host: Host, *, limited: bool = False) -> None:
        """Start sshd; limited, with MaxStartups 3 and MaxSessions 2."""
        services.start_ssh(host, limited=limited)

    def limit_memory(self, host: Host, container: str, *, mib: int) -> None:
        """Let a container have so much memory until it starts again."""
        services.limit_memory(host, container, mib)

    def stop_registry(self) -> None:
        """Stop the registry: no image can be pulled."""
        registry.stop(self.site)

    def start_registry(self) -> None:
        """Start the registry, if it does not run."""
        if not registry.is_up(self.site):
            registry.start(self.site)

    def fill_disk(self, host: Host, path: str, *, leave_mib: int) -> None:
        """Fill the disk that has a path of a host until leave_mib MiB are free."""
        faults.fill_disk(host, path, leave_mib=leave_mib)

    def heal(self, *hosts: Host) -> None:
        """Undo every fault of hosts (none given: of all, and the registry's).

        A host without power stays off.
        """
        if not hosts:
            self.start_registry()
        for host in hosts or self.hosts:
            faults.heal(host)

    @classmethod
    def _recorded(cls, site: Site) -> "Lab | None":
        record = _record(site)
        if not record.exists():
            return None
        try:
            known = json.loads(record.read_text())
            hosts = tuple(Host(site, index) for index in range(1, known["hosts"] + 1))
            return cls(site, hosts, known["disk_gib"], Path(known["rootfs"]))
        except (KeyError, ValueError):
            # Written by a checkout with another kind of record.
            return None

    def _start(self) -> None:
        network.check_free(self.site)
        with step(f"starting {len(self.hosts)} host(s)"):
            keys.write(self.site, len(self.hosts))
            network.create_bridge(self.site)
            for host in self.hosts:
                host.prepare(disk_gib=self.disk_gib)
                host.power_on(self.rootfs)
            if not machine.other_labs(self.site):
                for image in (VLLM, STAND_IN):
                    image.forget_old(self.site)
            registry.start(self.site)
            with ThreadPoolExecutor(len(self.hosts)) as pool:
                list(pool.map(Host.wait_until_up, self.hosts))
        # Written last: a lab whose start was interrupted is not taken for one that is up.
        known = {
            "hosts": len(self.hosts),
            "disk_gib": self.disk_gib,
            "rootfs": str(self.rootfs),
        }
        _record(self.site).write_text(json.dumps(known))

    def _fill(self) -> None:
        """Put what deployments need into the registry and on the hosts."""
        for image in (VLLM, STAND_IN):
            image.ensure(self.site)
        busybox.ensure(self.site, self.rootfs)
        for host in self.hosts:
            model.put_on(host, MODEL_FAMILY)
        if not machine.other_labs(self.site):
            roots = [debian.base(), self.rootfs, build.rootfs()]
            cache.remove_others([*roots, *model.cached()])


def _record(site: Site) -> Path:
    return site.state / "lab.json"


def _clean(site: Site) -> None:
    leftovers = machine.hosts_of(site)
    if leftovers or site.state.exists():
        with step("cleaning up"):
            for index in leftovers:
                Host(site, index).power_off()
            registry.stop(site)
            network.delete_bridge(site)
            machine.remove_state(site)


@contextmanager
def _alone() -> Iterator[None]:
    """Keep other commands that start or stop labs out.

    Raises LabError when one is at work.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LabError("another command of the lab is starting or stopping one") from error
        yield
