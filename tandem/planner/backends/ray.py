"""Ray over all hosts: a head, a worker on every other host, and the server beside the head."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tandem.findings import Finding, error, warning
from tandem.gates.spec import JoinSpec, Node, Watched
from tandem.planner.arguments import serve_arguments
from tandem.planner.backends.backend import Backend, TakenPort
from tandem.planner.environment import INTERFACE_VARIABLES, RDMA_VARIABLES
from tandem.planner.specs import Mount, Upload, VolumeSpec, fingerprint
from tandem.planner.supervision import SUPERVISE_PROGRAM, supervised, uploads
from tandem.planner.vllm.releases import declared_version, is_official, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tandem.planner.containers import Containers
    from tandem.planner.specs import ContainerSpec
    from tandem.settings import HostSettings
    from tandem.survey.facts import ImageContent

CONTRACT_PROGRAM = "/tandem/ray_contract.py"
CONFIG_ROOT = "/tandem/vllm"
"""Where the server finds vLLM's configuration files (VLLM_CONFIG_ROOT, vllm/envs.py)."""

RAY_IS_DROPPED = (0, 18)
"""First release whose package does not require Ray (metadata of 0.17.1 and 0.18.1 on PyPI); the
official images have lost it by 0.19.0 (vllm#33445, lws#835)."""

_WORKER_PORTS = range(10002, 20000)  # `ray start` --min-worker-port and --max-worker-port


def node_variables(host: HostSettings) -> dict[str, str]:
    """Return Ray's variables on a host; they have to be there when ``ray start`` runs."""
    address = str(host.address)
    return {
        "RAY_NODE_IP_ADDRESS": address,
        "RAY_OVERRIDE_NODE_IP_ADDRESS": address,
        # On unified memory Ray takes loaded weights for a leak and kills the worker.
        "RAY_memory_monitor_refresh_ms": "0",
    }


class Ray(Backend):
    """Ray's head and workers have the ranks; the server starts them there."""

    needs_ray = True
    roles = ("head", "worker", "server")
    reserved_variables = {
        "RAY_NODE_IP_ADDRESS": "hosts[].address",
        "RAY_OVERRIDE_NODE_IP_ADDRESS": "hosts[].address",
        "RAY_ADDRESS": "ray.port",
        "RAY_memory_monitor_refresh_ms": "nothing: Tandem switches Ray's memory monitor off",
        "VLLM_CONFIG_ROOT": "nothing: Tandem keeps Ray's list of host variables there",
    }

    @property
    def address(self) -> str:
        """Return where the Ray head listens, ``address:port``."""
        return f"{self.first.address}:{self.settings.ray.port}"

    def slots(self) -> list[str]:
        """Return the hosts as vLLM takes their GPUs.

        The first host's GPUs come first, then the hosts with fewer GPUs, then by address as text
        (``sort_by_driver_then_worker_ip``, vllm/v1/executor/ray_executor.py, 0.11 to 0.19).
        """
        others = sorted(self.others, key=lambda host: (host.gpu_count, str(host.address)))
        return [host.name for host in (self.first, *others) for _ in range(host.gpu_count)]

    def containers(self, make: Containers) -> tuple[ContainerSpec, ...]:
        """Return the head, the workers and the server."""
        session = VolumeSpec(name=make.volume_name(self.first, "session"), part="session")
        head, workers = self._head(make, session), [self._worker(make, one) for one in self.others]
        head = head.model_copy(update={"fingerprint": fingerprint((head, *workers))})
        workers = [
            # A worker can't change its session.
            worker.model_copy(update={"after": (head.name,), "replaced_with": head.name})
            for worker in workers
        ]
        return (head, *workers, self._server(make, session, head, workers))

    def join(self, containers: Sequence[ContainerSpec]) -> JoinSpec:
        """Return the nodes that have to be there: exactly the declared ones."""
        nodes = tuple(
            Node(Watched(host.name, host.target, spec.name), str(host.address), host.gpu_count)
            for host, spec in zip(self.settings.hosts, containers[:-1], strict=True)
        )
        return JoinSpec(nodes, self.address, self.settings.ray.join_timeout)

    def ports(self) -> tuple[TakenPort, ...]:
        """Return the head's port, which it takes of every address."""
        return (TakenPort("tandem:ray.port", self.settings.ray.port, "0.0.0.0"),)

    def rules(self) -> Iterator[Finding]:
        """Yield ports on which the API and Ray get into each other's way."""
        port, own = self.settings.serve.port, self.settings.ray.port
        if port == own:
            yield error(
                "port-twice",
                "tandem:serve.port",
                f"{port} is Ray's port on the same host",
                "choose another, e.g. 8000",
            )
        for path, number in (("tandem:serve.port", port), ("tandem:ray.port", own)):
            if number in _WORKER_PORTS:
                yield error(
                    "port-of-ray-workers",
                    path,
                    f"Ray gives {number} to its worker processes",
                    "choose a port outside 10002-19999",
                )

    def image_rules(self, held: ImageContent | None) -> Iterator[Finding]:
        """Yield that the image has no Ray."""
        settings, version = self.settings, declared_version(self.settings)
        path, need = "tandem:image.reference", f"{len(settings.hosts)} hosts need it"
        way = (
            "set backend: mp, which needs no Ray, or build an image FROM it with `pip install ray` "
            "in a pinned version"
        )
        if held is not None and held.ray is None:
            words = f"{settings.image.reference} was looked into and has no Ray"
            yield error("image-without-ray", path, f"{words}, and {need}", way)
        elif held is None and is_official(settings) and version and version >= RAY_IS_DROPPED:
            words = f"official images of vLLM {spoken(version)} come without Ray"
            yield warning("image-without-ray", path, f"{words}, and {need}", way)

    def known_by(self, name: str) -> dict[str, str | None]:
        """Return a variable's value by host, as the ranks there know it.

        The server runs on the first host, and vLLM copies its variables to the other hosts, except
        for names that some host declares for itself.
        """
        everywhere = self.settings.serve.env.get(name)
        is_carried = not any(name in host.env for host in self.settings.hosts)
        found = {
            host.name: everywhere if is_carried else host.env.get(name)
            for host in self.settings.hosts
        }
        return found | {self.first.name: everywhere or self.first.env.get(name)}

    def _head(self, make: Containers, session: VolumeSpec) -> ContainerSpec:
        options = ("--head", "--block", f"--port={self.settings.ray.port}")
        return make.container(
            self.first,
            "ray-head",
            kind="RayHead",
            role="head",
            entrypoint=supervised(self.settings, "ray", in_place=True),
            command=("start", *options, "--include-dashboard=false", *_node_options(self.first)),
            env=node_variables(self.first),
            mounts=(_session_mount(session),),
            uploads=uploads(SUPERVISE_PROGRAM),
            ports=(self.settings.ray.port,),
            ranks=self._ranks(self.first),
            volume=session,
            is_shared=True,
        )

    def _worker(self, make: Containers, host: HostSettings) -> ContainerSpec:
        return make.container(
            host,
            "ray-worker",
            kind="RayWorker",
            role="worker",
            # While the head is away, waiting is no reason to give up.
            entrypoint=supervised(self.settings, "ray", after=self.address),
            command=("start", "--block", f"--address={self.address}", *_node_options(host)),
            env=node_variables(host),
            uploads=uploads(SUPERVISE_PROGRAM),
            ranks=self._ranks(host),
        )

    def _server(
        self,
        make: Containers,
        session: VolumeSpec,
        head: ContainerSpec,
        workers: Sequence[ContainerSpec],
    ) -> ContainerSpec:
        nodes = [f"--node={host.address}={host.gpu_count}" for host in self.settings.hosts]
        deadline = f"--timeout={self.settings.ray.join_timeout}"
        words = ("python3", CONTRACT_PROGRAM, f"--address={self.address}", *nodes, deadline, "--")
        # Read by vllm/v1/executor/ray_executor.py as a list of names.
        names = Upload(
            path=f"{CONFIG_ROOT}/ray_non_carry_over_env_vars.json",
            content=json.dumps(self._not_carried_over()),
        )
        return make.server(
            serve_arguments(self.settings),
            # The wait comes first: it is no start of the server, and it may take long.
            before=words,
            env={
                **node_variables(self.first),
                "RAY_ADDRESS": self.address,
                "VLLM_CONFIG_ROOT": CONFIG_ROOT,
            },
            files=(*uploads(CONTRACT_PROGRAM), names),
            mounts=(_session_mount(session),),
            # A Ray driver finds its raylet by scanning processes, and shares memory with it.
            shares=head.name,
            after=(head.name, *(worker.name for worker in workers)),
            after_join=True,
            replaced_with=tuple(worker.name for worker in workers),
        )

    def _ranks(self, host: HostSettings) -> tuple[int, ...]:
        slots = self.slots()[: self.settings.world_size]
        return tuple(rank for rank, name in enumerate(slots) if name == host.name)

    def _not_carried_over(self) -> list[str]:
        """Return the names that vLLM's Ray executor must not copy from the head to the workers."""
        names = {*INTERFACE_VARIABLES, *RDMA_VARIABLES, "NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX"}
        names |= {"NCCL_IB_HCA", "VLLM_HOST_IP", "VLLM_API_KEY"}
        names |= {"RAY_NODE_IP_ADDRESS", "RAY_OVERRIDE_NODE_IP_ADDRESS"}
        names |= {name for host in self.settings.hosts for name in host.env}
        return sorted(names)


def _session_mount(session: VolumeSpec) -> Mount:
    """Return the mount at /tmp of head and server: Ray's session and vLLM's sockets."""
    return Mount(volume=session.name, target="/tmp", read_only=False)


def _node_options(host: HostSettings) -> tuple[str, ...]:
    return (
        f"--node-ip-address={host.address}",
        f"--num-gpus={host.gpu_count}",
        "--disable-usage-stats",
    )
