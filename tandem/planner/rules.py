"""What the declaration alone can get wrong, one function a rule."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.planner import arguments, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tandem.settings import Settings

_SECRET_ENDINGS = ("_TOKEN", "_API_KEY", "_SECRET", "_PASSWORD")
_RAY_WORKER_PORTS = range(10002, 20000)  # `ray start` --min-worker-port and --max-worker-port


def check(settings: Settings) -> list[Finding]:
    """Return every finding that needs no look at the hosts."""
    rules = (_names, _addresses, _gpus, _ports, _environment, _arguments)
    return [finding for rule in rules for finding in rule(settings)]


def _names(settings: Settings) -> Iterator[Finding]:
    for index, name in _repeated([host.name for host in settings.hosts]):
        path = f"tandem:hosts[{index}].name"
        yield error("name-twice", path, f'"{name}" is taken by another host', "give each its own")


def _addresses(settings: Settings) -> Iterator[Finding]:
    addresses = [str(host.address) for host in settings.hosts]
    for index, address in _repeated(addresses):
        path = f"tandem:hosts[{index}].address"
        yield error(
            "address-twice", path, f"{address} is another host's address", "give each its own"
        )
    for index, host in enumerate(settings.hosts):
        path = f"tandem:hosts[{index}].address"
        if host.address.is_unspecified or (settings.spans_hosts and host.address.is_loopback):
            yield error(
                "address-not-reachable",
                path,
                f"other hosts can't reach {host.address}",
                "write the host's address on the network between the hosts",
            )


def _gpus(settings: Settings) -> Iterator[Finding]:
    for index, host in enumerate(settings.hosts):
        for _, device in _repeated([] if isinstance(host.gpus, int) else list(host.gpus)):
            path = f"tandem:hosts[{index}].gpus"
            yield error("gpu-twice", path, f"device {device} is named twice", "name each once")
    declared = sum(host.gpu_count for host in settings.hosts)
    tensor, pipeline = settings.serve.tensor_parallel, settings.serve.pipeline_parallel
    product = f"tensorParallel {tensor} x pipelineParallel {pipeline}"
    if settings.world_size > declared:
        yield error(
            "gpus-too-few",
            "tandem:serve.tensorParallel",
            f"{product} needs {settings.world_size} GPUs, the hosts declare {declared}",
            f"make the product {declared} or declare more GPUs",
        )
    elif settings.world_size < declared:
        yield warning(
            "gpus-idle",
            "tandem:serve.tensorParallel",
            f"{product} uses {settings.world_size} of {declared} declared GPUs",
            "the rest stay idle; declare fewer hosts or raise the product",
        )


def _ports(settings: Settings) -> Iterator[Finding]:
    port = settings.serve.port
    if not settings.spans_hosts:
        return
    if port == settings.ray.port:
        yield error(
            "port-twice",
            "tandem:serve.port",
            f"{port} is Ray's port on the same host",
            "choose another, e.g. 8000",
        )
    for path, number in (("tandem:serve.port", port), ("tandem:ray.port", settings.ray.port)):
        if number in _RAY_WORKER_PORTS:
            yield error(
                "port-of-ray-workers",
                path,
                f"Ray gives {number} to its worker processes",
                "choose a port outside 10002-19999",
            )


def _environment(settings: Settings) -> Iterator[Finding]:
    places = {f"tandem:hosts[{index}].env": host.env for index, host in enumerate(settings.hosts)}
    places["tandem:serve.env"] = settings.serve.env
    reserved = dict(environment.RESERVED)
    if settings.image.entrypoint == "image":
        reserved |= dict.fromkeys(environment.IMAGE_VARIABLES, "the keys of tandem:serve")
    for place, env in places.items():
        for name in env:
            path = f"{place}.{name}"
            if name in reserved:
                yield error(
                    "reserved-variable", path, "Tandem sets this variable", f"use {reserved[name]}"
                )
            if f"_{name.upper()}".endswith(_SECRET_ENDINGS):
                yield error(
                    "secret-in-env",
                    path,
                    "this looks like a secret, and `docker inspect` shows a container's variables",
                    "remove it; the model is read from a folder and needs no token",
                )


def _arguments(settings: Settings) -> Iterator[Finding]:
    for index, word in enumerate(settings.serve.args):
        flag = word.partition("=")[0].replace("_", "-")
        path = f"tandem:serve.args[{index}]"
        if flag in arguments.RESERVED:
            yield error(
                "reserved-argument",
                path,
                f"{flag} is decided by {arguments.RESERVED[flag]}",
                "set that key instead",
            )
        if flag in arguments.SECRETS:
            yield error(
                "secret-in-args",
                path,
                f"{flag} would show its value in the process list and in the log",
                "remove it",
            )


def _repeated(values: list[str]) -> Iterator[tuple[int, str]]:
    """Yield index and value of every second and later occurrence."""
    seen: Counter[str] = Counter()
    for index, value in enumerate(values):
        if seen[value]:
            yield index, value
        seen[value] += 1
