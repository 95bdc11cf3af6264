"""vLLM's own processes on every host: the server has the first ranks, and each other host its own.

Without Ray nothing tells the server that a rank is gone, nor a rank that the server is. So a
program around each vLLM (tandem/remote/generation.py) ends what is left of a broken group.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from tandem.findings import Finding, error
from tandem.gates.spec import RankHost, RanksSpec, Watched
from tandem.planner.arguments import serve_arguments
from tandem.planner.backends.backend import Backend, TakenPort
from tandem.planner.specs import fingerprint
from tandem.planner.supervision import (
    GENERATION_PROGRAM,
    SUPERVISE_PROGRAM,
    in_generation,
    supervised,
    uploads,
)
from tandem.planner.vllm.flags import Flags
from tandem.planner.vllm.front_end import without_front_end
from tandem.planner.vllm.releases import declared_version, names_of, spoken
from tandem.planner.vllm.words import given

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tandem.planner.containers import Containers
    from tandem.planner.specs import ContainerSpec
    from tandem.settings import HostSettings

FIRST_RELEASE = (0, 12)
"""``--nnodes`` came with 0.11.2 (vllm#23691); 0.12 is the first that was read whole."""

_TIMEOUT = "--distributed-timeout-seconds"
_DATA_PARALLEL = "--data-parallel"
_LOG_LEVEL = "VLLM_LOGGING_LEVEL"


class Mp(Backend):
    """A server on the first host, and a container with the ranks of each other host."""

    roles = ("rank", "server")
    reserved_flags = {
        "--nnodes": "the number of tandem:hosts",
        "--node-rank": "the order of tandem:hosts",
        "--master-addr": "tandem:hosts[0].address",
        "--master-port": "tandem:mp.port",
        "--headless": "tandem:backend",
    }

    @property
    def ranks_per_host(self) -> int:
        """Return how many ranks each host has (``local_world_size``, vllm/config/parallel.py)."""
        return self.settings.world_size // len(self.settings.hosts)

    def slots(self) -> list[str]:
        """Return the hosts in the order of the stack file, each with as many ranks as the others.

        Rank r of node n is ``n * local_world_size + r`` (multiproc_executor.py, 0.12 to 0.33).
        """
        return [host.name for host in self.settings.hosts for _ in range(self.ranks_per_host)]

    def containers(self, make: Containers) -> tuple[ContainerSpec, ...]:
        """Return the ranks of the other hosts, then the server, which is the first one to go."""
        ranks = [self._rank(make, host, node) for node, host in enumerate(self.others, 1)]
        server = self._server(make, tuple(rank.name for rank in ranks))
        together = fingerprint((*ranks, server))
        return (*(rank.model_copy(update={"fingerprint": together}) for rank in ranks), server)

    def join(self, containers: Sequence[ContainerSpec]) -> RanksSpec:
        """Return the ranks that have to be there: exactly the planned ones, each on its host."""
        by_host = {spec.host: spec for spec in containers}
        hosts = tuple(
            RankHost(
                Watched(host.name, host.target, by_host[host.name].name),
                str(host.address),
                by_host[host.name].ranks,
                by_host[host.name].command,
            )
            for host in self.settings.hosts
        )
        mp = self.settings.mp
        return RanksSpec(hosts, str(self.first.address), mp.port, mp.join_timeout)

    def ports(self) -> tuple[TakenPort, ...]:
        """Return the ranks' port, which torch's store takes of every address, and the next one."""
        port, key = self.settings.mp.port, "tandem:mp.port"
        return (
            TakenPort(key, port, "0.0.0.0", is_late=True),
            TakenPort(key, port + 1, str(self.first.address), is_late=True),
        )

    def rules(self) -> Iterator[Finding]:
        """Yield what vLLM's own processes over several hosts can't do."""
        yield from self._version()
        yield from self._sizes()
        yield from self._ports()
        yield from self._flags()
        yield from self._entrypoint()

    def start(self) -> dict[str, Any]:
        """Return the backend's name: what Ray holds besides is not there."""
        return {"backend": "mp"}

    def _rank(self, make: Containers, host: HostSettings, node: int) -> ContainerSpec:
        start = make.start_words()
        return make.container(
            host,
            "rank",
            kind="VllmRank",
            role="rank",
            entrypoint=start and supervised(self.settings, *self._keeper(make, node), *start),
            command=(*without_front_end(self._words(node)), "--headless"),
            env=self.settings.serve.env,
            uploads=uploads(SUPERVISE_PROGRAM, GENERATION_PROGRAM),
            ranks=self._ranks(node),
        )

    def _server(self, make: Containers, ranks: tuple[str, ...]) -> ContainerSpec:
        port = self.settings.mp.port
        return make.server(
            self._words(0),
            around=self._keeper(make, 0),
            env={},
            files=uploads(GENERATION_PROGRAM),
            ports=(port, port + 1),
            ranks=self._ranks(0),
            after=ranks,
            replaced_with=ranks,
        )

    def _words(self, node: int) -> tuple[str, ...]:
        """Return the arguments of ``vllm serve``, the same on every host but for the node."""
        settings = self.settings
        names = names_of(declared_version(settings))
        knows_timeout = names is not None and _TIMEOUT in names.flags
        is_said = Flags(settings.serve.args).text(_TIMEOUT) is not None
        limit = (_TIMEOUT, str(settings.mp.join_timeout)) if knows_timeout and not is_said else ()
        return (
            *serve_arguments(settings),
            *limit,
            *("--nnodes", str(len(settings.hosts)), "--node-rank", str(node)),
            *("--master-addr", str(self.first.address), "--master-port", str(settings.mp.port)),
        )

    def _keeper(self, make: Containers, node: int) -> tuple[str, ...]:
        settings = self.settings
        said = [self._words(0), sorted(settings.serve.env.items()), settings.image.reference]
        # Ranks of another declaration are taken for strangers.
        digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()[:12]
        at = f"{self.first.address}:{settings.mp.port + 1}"
        addresses = [str(host.address) for host in settings.hosts]
        return in_generation(f"{make.stack}-{digest}", at, addresses, node)

    def _ranks(self, node: int) -> tuple[int, ...]:
        return tuple(range(node * self.ranks_per_host, (node + 1) * self.ranks_per_host))

    def _version(self) -> Iterator[Finding]:
        version = declared_version(self.settings)
        if version is not None and version < FIRST_RELEASE:
            yield error(
                "backend-needs-newer-vllm",
                "tandem:backend",
                f"vLLM {spoken(version)} has no processes over several hosts of its own",
                f"use an image with vLLM {spoken(FIRST_RELEASE)} or newer, or backend: ray",
            )

    def _sizes(self) -> Iterator[Finding]:
        settings = self.settings
        counts = {host.name: host.gpu_count for host in settings.hosts}
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        if len(set(counts.values())) > 1:
            yield error(
                "hosts-uneven",
                "tandem:hosts",
                f"with backend: mp every host has the same number of ranks (GPUs: {told})",
                f"declare {min(counts.values())} GPUs on every host, or use backend: ray",
            )
        elif settings.world_size % len(settings.hosts):
            yield error(
                "ranks-uneven",
                "tandem:serve.tensorParallel",
                f"{settings.world_size} ranks can't be shared out evenly over "
                f"{len(settings.hosts)} hosts, as backend: mp does it",
                f"make tensorParallel x pipelineParallel {sum(counts.values())}, or declare fewer "
                "hosts",
            )

    def _ports(self) -> Iterator[Finding]:
        own = self.settings.mp.port
        if self.settings.serve.port in (own, own + 1):
            yield error(
                "port-twice",
                "tandem:serve.port",
                f"mp.port is {own}: the ranks meet on {own} and {own + 1} of the same host",
                "choose another, e.g. 8000",
            )

    def _flags(self) -> Iterator[Finding]:
        for one in given(self.settings.serve.args):
            if one.flag.startswith(_DATA_PARALLEL) and one.value != "1":
                yield error(
                    "data-parallel-over-hosts",
                    one.path,
                    f"{one.flag} would make several replicas over the hosts, and Tandem starts one",
                    "remove it; to serve several replicas, write a stack file for each",
                )
        level = self.settings.serve.env.get(_LOG_LEVEL, "INFO").upper()
        if level not in {"INFO", "DEBUG"}:
            yield error(
                "log-too-quiet",
                f"tandem:serve.env.{_LOG_LEVEL}",
                f"at {level} no rank logs that it joins, which is what an `up` waits for",
                "remove it, or use backend: ray",
            )

    def _entrypoint(self) -> Iterator[Finding]:
        if self.settings.image.entrypoint == "image":
            yield error(
                "backend-needs-entrypoint",
                "tandem:image.entrypoint",
                "backend: mp puts programs around what starts vLLM, and the image's own entrypoint "
                "is not known",
                "write what starts vLLM in the image as image.entrypoint, e.g. vllm",
            )
