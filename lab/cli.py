"""The commands of `python3 -m lab`."""

import argparse
from collections.abc import Callable, Sequence

from lab import model, status
from lab.api import Lab
from lab.progress import say


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="python3 -m lab", description="Docker hosts on this machine to try and test on."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="start a lab, or say that it is up")
    up.add_argument("--hosts", type=int, default=2, help="how many hosts (default: 2)")
    up.add_argument("--disk", type=int, metavar="GIB", help="a disk of fixed size for each host")

    down = commands.add_parser("down", help="take the lab down")
    down.add_argument("--purge", action="store_true", help="remove images and downloads too")

    commands.add_parser("status", help="show the hosts")

    make = commands.add_parser("model", help="make a tiny model and put it on every host")
    make.add_argument("family", nargs="?", default="qwen3", choices=model.families())

    kill = commands.add_parser("kill", help="kill a container")
    _host(kill)
    kill.add_argument("container")

    cut = commands.add_parser("power-cut", help="kill everything of a host, then boot it")
    _host(cut)
    cut.add_argument("--off", action="store_true", help="do not boot it again")

    _host(commands.add_parser("power-on", help="boot a host that is off"))

    part = commands.add_parser("partition", help="drop a host's traffic to and from other hosts")
    _host(part)
    part.add_argument("--from", dest="other", metavar="OTHER", help="from this host only")
    part.add_argument(
        "--percent", type=int, default=100, metavar="N", help="drop only so many packets, by chance"
    )
    how = part.add_mutually_exclusive_group()
    how.add_argument("--one-way", action="store_true", help="drop only what the others send to it")
    how.add_argument("--link", action="store_true", help="take its whole link down, ssh too")

    slow = commands.add_parser("slow-link", help="limit what passes over the cable of a host")
    _host(slow)
    slow.add_argument("--mbit", type=float, required=True, metavar="N", help="Mbit/s each way")

    for service in ("dockerd", "sshd"):
        _switch(commands.add_parser(service, help=f"stop or start {service} of a host"), service)

    limit = commands.add_parser("limit-memory", help="let a container have only so much memory")
    _host(limit)
    limit.add_argument("container")
    limit.add_argument("mib", type=int, metavar="MIB")

    repository = commands.add_parser("registry", help="stop or start the registry")
    repository.add_argument("action", choices=["stop", "start"])

    fill = commands.add_parser("fill-disk", help="fill the disk of a host (needs up --disk)")
    _host(fill)
    fill.add_argument("path", help="a path on that disk")
    fill.add_argument("--leave", type=int, required=True, metavar="MIB", help="what stays free")

    heal = commands.add_parser("heal", help="undo the faults of a host")
    which = heal.add_mutually_exclusive_group(required=True)
    which.add_argument("host", nargs="?", metavar="HOST")
    which.add_argument("--all", action="store_true", help="of all hosts")
    return top


def run(arguments: Sequence[str]) -> None:
    """Carry out a command line.

    Raises LabError when the command fails, SystemExit when the command line is wrong.
    """
    options = parser().parse_args(arguments)
    _COMMANDS[options.command](options)


def _up(options: argparse.Namespace) -> None:
    lab = Lab.up(options.hosts, disk_gib=options.disk)
    say(f"up: {', '.join(host.name for host in lab.hosts)}")
    print(f"image       {lab.image}")
    print(f"ssh config  {lab.ssh_config}")
    print(f"try         ssh -F {lab.ssh_config} {lab.hosts[0].name} docker version")


def _down(options: argparse.Namespace) -> None:
    Lab.clean(purge=options.purge)
    say("down")


def _status(_: argparse.Namespace) -> None:
    print(status.table(Lab.running()))


def _model(options: argparse.Namespace) -> None:
    for host in Lab.running().hosts:
        print(f"{host.name}:{model.put_on(host, options.family)}")


def _kill(options: argparse.Namespace) -> None:
    Lab.running().host(options.host).kill(options.container)


def _power_cut(options: argparse.Namespace) -> None:
    lab = Lab.running()
    lab.power_cut(lab.host(options.host), off=options.off)


def _power_on(options: argparse.Namespace) -> None:
    lab = Lab.running()
    lab.power_on(lab.host(options.host))


def _partition(options: argparse.Namespace) -> None:
    lab = Lab.running()
    host = lab.host(options.host)
    if options.link:
        lab.cut_link(host)
        return
    others = [lab.host(options.other)] if options.other else None
    lab.partition(host, others=others, one_way=options.one_way, percent=options.percent)


def _slow_link(options: argparse.Namespace) -> None:
    lab = Lab.running()
    lab.slow_link(lab.host(options.host), mbit=options.mbit)


def _dockerd(options: argparse.Namespace) -> None:
    lab = Lab.running()
    host = lab.host(options.host)
    if options.action in ("stop", "restart"):
        lab.stop_docker(host)
    if options.action in ("start", "restart"):
        lab.start_docker(host)


def _sshd(options: argparse.Namespace) -> None:
    lab = Lab.running()
    host = lab.host(options.host)
    if options.action == "stop":
        lab.stop_ssh(host)
    else:
        lab.start_ssh(host, limited=options.action == "limit")


def _limit_memory(options: argparse.Namespace) -> None:
    lab = Lab.running()
    lab.limit_memory(lab.host(options.host), options.container, mib=options.mib)


def _registry(options: argparse.Namespace) -> None:
    lab = Lab.running()
    if options.action == "stop":
        lab.stop_registry()
    else:
        lab.start_registry()


def _fill_disk(options: argparse.Namespace) -> None:
    lab = Lab.running()
    lab.fill_disk(lab.host(options.host), options.path, leave_mib=options.leave)


def _heal(options: argparse.Namespace) -> None:
    lab = Lab.running()
    lab.heal(*([] if options.all else [lab.host(options.host)]))


def _host(command: argparse.ArgumentParser) -> None:
    command.add_argument("host", metavar="HOST", help="such as lab-1")


def _switch(command: argparse.ArgumentParser, service: str) -> None:
    _host(command)
    third = {"dockerd": "restart", "sshd": "limit"}[service]
    command.add_argument("action", choices=["stop", "start", third])


_COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "up": _up,
    "down": _down,
    "status": _status,
    "model": _model,
    "kill": _kill,
    "power-cut": _power_cut,
    "power-on": _power_on,
    "partition": _partition,
    "slow-link": _slow_link,
    "dockerd": _dockerd,
    "sshd": _sshd,
    "limit-memory": _limit_memory,
    "registry": _registry,
    "fill-disk": _fill_disk,
    "heal": _heal,
}
