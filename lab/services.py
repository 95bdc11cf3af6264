"""Faults of what a host runs: dockerd, sshd and the memory of a container."""

import time
from pathlib import Path

from lab import cgroups, processes
from lab.errors import LabError
from lab.host import Host
from lab.processes import Process
from lab.shell import attempt

LIMITS = ("-o", "MaxStartups=3", "-o", "MaxSessions=2")
"""Of sshd where somebody was careful: three connections that are not yet in, two sessions each."""
_START_SECONDS = 10.0
_STOP_SECONDS = 40.0
_MIB = 1024**2


def stop_docker(host: Host) -> None:
    """Stop dockerd as a service manager does; its containers end with it."""
    for daemon in _running(host, "dockerd"):
        attempt(["kill", "-TERM", str(daemon.pid)])
    deadline = time.monotonic() + _STOP_SECONDS
    while _running(host, "dockerd"):
        if time.monotonic() > deadline:
            raise LabError(f"{host.name}: dockerd did not end within {_STOP_SECONDS:.0f} s")
        time.sleep(0.1)


def start_docker(host: Host) -> None:
    """Start dockerd where it does not run, and wait until it answers; sshd has to run."""
    if not _running(host, "dockerd"):
        _start(host, "dockerd")
    host.wait_until_up()


def stop_ssh(host: Host) -> None:
    """Kill sshd with all its connections."""
    processes.kill([process.pid for process in _running(host, "sshd")])


def start_ssh(host: Host, *, limited: bool = False) -> None:
    """Start sshd where it does not run; with limits its connections end first."""
    listening = [process for process in _running(host, "sshd") if _listens(process)]
    if listening and limited == any(_is_limited(process) for process in listening):
        return
    stop_ssh(host)
    _start(host, "sshd", *(LIMITS if limited else ()))
    deadline = time.monotonic() + _START_SECONDS
    while not any(_listens(process) for process in _running(host, "sshd")):
        if time.monotonic() > deadline:
            raise LabError(f"{host.name}: sshd does not start")
        time.sleep(0.1)


def limit_memory(host: Host, container: str, mib: int) -> None:
    """Let a container have so much memory until it starts again.

    Raises LabError when there is no such container, or it has more already.
    """
    found = host.ssh(f"docker inspect --format {{{{.Id}}}} {container}")
    if found.returncode:
        raise LabError(f"{host.name}: {found.stderr.strip()}")
    cgroups.limit_memory(host.marker, found.stdout.strip(), mib * _MIB)


def heal(host: Host) -> None:
    """Start what does not run, without limits."""
    start_ssh(host)
    start_docker(host)


def faults_of(host: Host) -> list[str]:
    """Return the faults of a host's services in words."""
    found = []
    if not _running(host, "dockerd"):
        found.append("no dockerd")
    listening = [process for process in _running(host, "sshd") if _listens(process)]
    if not listening:
        found.append("no sshd")
    if any(_is_limited(process) for process in listening):
        found.append("sshd limited")
    return found


def _running(host: Host, name: str) -> list[Process]:
    init, found = host.init(), processes.all_processes()
    below = processes.descendants(init, found) if init else []
    return [process for process in below if process.name == name]


def _listens(process: Process) -> bool:
    """Tell whether an sshd is the one that takes connections, from its title."""
    return "[listener]" in " ".join(process.command)


def _is_limited(process: Process) -> bool:
    return LIMITS[-1] in " ".join(process.command)


def _start(host: Host, *words: str) -> None:
    """Have the host's own script start a service."""
    init = host.init()
    if init is None:
        raise LabError(f"{host.name} is off")
    Path(f"/proc/{init.pid}/root/run/lab-services").write_text(f"{' '.join(words)}\n")
