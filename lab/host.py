"""One lab host: boot, power, what runs on it, and a shell on it."""

import json
import os
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from lab import cgroups, network, processes
from lab.errors import LabError
from lab.layout import Site
from lab.processes import Process
from lab.shell import attempt, detach, run

_BOOT_SCRIPT = Path(__file__).with_name("boot.sh")
_BOOT_SECONDS = 60.0


@dataclass(frozen=True)
class Host:
    """A Docker host in namespaces of its own; number 1 is lab-1."""

    site: Site
    index: int

    @property
    def name(self) -> str:
        """The name, which is also the destination for ssh."""
        return self.site.host_name(self.index)

    @property
    def address(self) -> str:
        """The IPv4 address on the lab's bridge."""
        return self.site.host_address(self.index)

    @property
    def folder(self) -> Path:
        """The folder of the host's disk and boot files on the machine."""
        return self.site.host_folder(self.index)

    @property
    def marker(self) -> str:
        """What tells the host's processes from all others, and names its network namespace."""
        return self.site.namespace(self.index)

    def prepare(self, *, disk_gib: int | None) -> None:
        """Write the files that a boot starts from, and a disk of fixed size when one is asked."""
        etc = self.folder / "seed" / "etc"
        (etc / "docker").mkdir(parents=True, exist_ok=True)
        for folder in ("data", "root"):
            (self.folder / folder).mkdir()
        shutil.copy(_BOOT_SCRIPT, self.folder)
        (etc / "hostname").write_text(f"{self.name}\n")
        (etc / "hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {self.name}\n")
        settings = {
            "insecure-registries": [self.site.registry],
            "storage-driver": "overlay2",
            "cgroup-parent": cgroups.parent_of(self.marker),
        }
        (etc / "docker" / "daemon.json").write_text(json.dumps(settings, indent=2))
        if disk_gib is not None:
            disk = self.folder / "disk.img"
            with disk.open("wb") as file:
                os.truncate(file.fileno(), disk_gib << 30)
            run(["mkfs.ext4", "-q", "-m", "0", disk])

    def power_on(self, rootfs: Path) -> None:
        """Plug the host in and boot it; the caller waits with wait_until_up."""
        if self.init() is not None:
            raise LabError(f"{self.name} is on")
        network.disconnect(self.site, self.index)
        network.connect(self.site, self.index)
        command: list[str | Path] = ["nsenter", f"--net={network.NAMESPACES / self.marker}"]
        command += ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"]
        command += ["sh", self.folder / "boot.sh", self.folder, rootfs, self.name, self.marker]
        detach(command, self.folder / "boot.log")

    def wait_until_up(self) -> None:
        """Wait until Docker answers over SSH.

        Raises LabError when it does not within 60 seconds.
        """
        deadline = time.monotonic() + _BOOT_SECONDS
        while not self.docker_answers():
            # The boot needs a moment until its PID 1 can be told from others.
            ended = time.monotonic() > deadline - _BOOT_SECONDS + 3 and self.init() is None
            if ended or time.monotonic() > deadline:
                logs = f"{self.folder}/boot.log and {self.folder}/data/changes/var/log"
                raise LabError(f"{self.name} did not come up: see {logs}")
            time.sleep(0.2)

    def power_off(self) -> None:
        """Cut the power: nothing of the host runs any more, and no peer is told.

        The cable goes first: the kernel would close the connections of killed processes in order.
        """
        network.disconnect(self.site, self.index)
        # With PID 1 of a PID namespace every process in it is killed; PID 1 is the last to go.
        processes.kill([init.pid for init in self._inits(processes.all_processes())])
        cgroups.remove(self.marker)

    def init(self) -> Process | None:
        """Return the host's PID 1; None when the host is off."""
        inits = self._inits(processes.all_processes())
        return inits[0] if inits else None

    def processes(self) -> list[Process]:
        """Return what runs on the host beside sshd, dockerd, containerd and their helpers."""
        found = processes.all_processes()
        return [
            process
            for init in self._inits(found)
            for process in processes.descendants(init, found)
            if not processes.is_infrastructure(process)
        ]

    def ssh(
        self, command: str, *, alias: str = "", stdin: str | None = None, timeout: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """Run a shell command on the host as root, or as an alias such as "tandem" says.

        Raises LabError when it takes longer than timeout seconds.
        """
        destination = f"{self.name}-{alias}" if alias else self.name
        return attempt(
            ["ssh", "-F", self.site.ssh_config, destination, command], stdin=stdin, timeout=timeout
        )

    def put(self, source: Path, folder: str) -> None:
        """Copy a file or a folder into a folder of the host, which is made when it is not there.

        Raises LabError when that fails.
        """
        packed = subprocess.run(
            [
                "tar",
                "--create",
                f"--directory={source.parent}",
                "--exclude=__pycache__",
                source.name,
            ],
            capture_output=True,
            check=True,
        )
        target = shlex.quote(folder)
        unpack = f"mkdir -p {target} && tar -x -C {target} --no-same-owner"
        result = subprocess.run(
            ["ssh", "-F", self.site.ssh_config, self.name, unpack],
            input=packed.stdout,
            capture_output=True,
            check=False,
        )
        if result.returncode:
            problem = result.stderr.decode().strip()
            raise LabError(f"{self.name}: copying {source.name} failed: {problem}")

    def docker_answers(self) -> bool:
        """Tell whether Docker answers over SSH within 10 seconds."""
        try:
            return self.ssh("docker version", timeout=10).returncode == 0
        except LabError:
            return False

    def kill(self, container: str) -> None:
        """Kill a container as `docker kill` does, which Docker counts as stopped by hand."""
        result = self.ssh(f"docker kill {shlex.quote(container)}")
        if result.returncode:
            raise LabError(f"{self.name}: {result.stderr.strip()}")

    def _inits(self, found: list[Process]) -> list[Process]:
        return [p for p in found if p.is_init and p.command[-1:] == (self.marker,)]
