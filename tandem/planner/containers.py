"""Every container's full spec, from settings and each host's interface."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from tandem.planner.arguments import MODEL_FOLDER, listen_address, serve_arguments, server_url
from tandem.planner.environment import CONFIG_ROOT, host_environment, not_carried_over
from tandem.planner.names import container_name
from tandem.planner.specs import ContainerSpec, Mount, SecretUpload, Upload, VolumeSpec
from tandem.planner.supervision import (
    LIVENESS_PROGRAM,
    SUPERVISE_PROGRAM,
    health_check,
    supervised,
    uploads,
    watched,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tandem.settings import HostSettings, Settings

CONTRACT_PROGRAM = "/tandem/ray_contract.py"
KEY_PROGRAM = "/tandem/with_key.py"
KEY_FILE = "/tandem/api-key"


class Containers:
    """Builds the specs of one stack's containers."""

    def __init__(
        self, settings: Settings, stack: str, interfaces: Mapping[str, str | None]
    ) -> None:
        self._settings = settings
        self._stack = stack
        self._interfaces = interfaces

    @property
    def ray_address(self) -> str:
        """Return where the Ray head listens, ``address:port``."""
        return f"{self._settings.head.address}:{self._settings.ray.port}"

    def model_volume(self, host: HostSettings) -> VolumeSpec:
        """Return the volume that holds the weights on ``host``."""
        model = self._settings.model
        if model.source.hub:
            name = model.source.on_host(self._stack, host.name)
            return VolumeSpec(name=name, is_kept=not model.delete_on_destroy)
        name = f"tandem-{self._stack}-{host.name}-model"
        return VolumeSpec(name=name, device=model.source.path)

    def hashes_volume(self, host: HostSettings) -> VolumeSpec:
        """Return the volume that keeps the hashes of the weights on ``host``."""
        return VolumeSpec(name=f"tandem-{self._stack}-{host.name}-hashes")

    def session_volume(self) -> VolumeSpec:
        """Return the volume at /tmp of head and server: Ray's session and vLLM's sockets."""
        return VolumeSpec(name=f"tandem-{self._stack}-{self._settings.head.name}-session")

    def head(self) -> ContainerSpec:
        """Return the Ray head."""
        head = self._settings.head
        command = ("start", "--head", "--block", f"--port={self._settings.ray.port}")
        options = ("--include-dashboard=false", *_node_options(head))
        start = supervised(self._settings, "ray", in_place=True)
        return self._ray(head, "head", start, (*command, *options), (self._session_mount(),))

    def worker(self, host: HostSettings) -> ContainerSpec:
        """Return the Ray worker of ``host``."""
        command = ("start", "--block", f"--address={self.ray_address}", *_node_options(host))
        # While the head is away, waiting is no reason to give up.
        start = supervised(self._settings, "ray", after=self.ray_address)
        return self._ray(host, "worker", start, command, ())

    def server(self) -> ContainerSpec:
        """Return the vLLM server, beside the Ray head when there is more than one host."""
        settings, head = self._settings, self._settings.head
        entrypoint, command = self._server_command()
        env = host_environment(settings, head, self._interfaces[head.name])
        env |= self._server_environment()
        beside_head = settings.spans_hosts
        return ContainerSpec(
            name=self._name(head, "server"),
            host=head.name,
            role="server",
            entrypoint=entrypoint,
            command=command,
            env=env | settings.serve.env,
            mounts=(self._model_mount(head), *((self._session_mount(),) if beside_head else ())),
            uploads=self._uploads(),
            secret_uploads=self._secret_uploads(),
            gpus=head.gpus,
            beside_head=beside_head,
            shm_bytes=settings.shm_size,
            rdma=settings.rdma,
            labels=self._labels("server", settings.serve.port),
            # The image's own entrypoint is not known, so nothing can be put before it.
            restart_limit=settings.restarts.limit if entrypoint is None else 0,
            health=health_check(settings) if entrypoint is not None else None,
        )

    @cached_property
    def everywhere(self) -> tuple[ContainerSpec, ...]:
        """Return every container of the deployment in the order in which they start."""
        if not self._settings.spans_hosts:
            return (self.server(),)
        workers = (self.worker(host) for host in self._settings.hosts[1:])
        return (self.head(), *workers, self.server())

    def _ray(
        self,
        host: HostSettings,
        role: Literal["head", "worker"],
        entrypoint: tuple[str, ...],
        command: tuple[str, ...],
        mounts: tuple[Mount, ...],
    ) -> ContainerSpec:
        ports = (self._settings.ray.port,) if role == "head" else ()
        return ContainerSpec(
            name=self._name(host, f"ray-{role}"),
            host=host.name,
            role=role,
            entrypoint=entrypoint,
            command=command,
            env=host_environment(self._settings, host, self._interfaces[host.name]),
            mounts=(self._model_mount(host), *mounts),
            uploads=uploads(SUPERVISE_PROGRAM),
            gpus=host.gpus,
            shm_bytes=self._settings.shm_size,
            rdma=self._settings.rdma,
            labels=self._labels(role, *ports),
        )

    def _server_command(self) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
        settings = self._settings
        arguments = serve_arguments(settings)
        entrypoint = settings.image.entrypoint
        if entrypoint == "image":
            return None, arguments
        start = ("vllm", "serve") if entrypoint == "vllm" else entrypoint
        key_file = KEY_FILE if settings.api_key is not None else None
        if key_file is not None:
            start = ("python3", KEY_PROGRAM, key_file, *start)
        start = supervised(settings, *watched(settings, server_url(settings), key_file, start))
        if not settings.spans_hosts:
            return start, arguments
        nodes = [f"--node={host.address}={host.gpu_count}" for host in settings.hosts]
        deadline = f"--timeout={settings.ray.join_timeout}"
        wait = ("python3", CONTRACT_PROGRAM, f"--address={self.ray_address}", *nodes, deadline)
        # The wait comes first: it is no start of the server, and it may take long.
        return (*wait, "--", *start), arguments

    def _server_environment(self) -> dict[str, str]:
        settings = self._settings
        env: dict[str, str] = {}
        if settings.spans_hosts:
            env |= {"RAY_ADDRESS": self.ray_address, "VLLM_CONFIG_ROOT": CONFIG_ROOT}
        if settings.image.entrypoint == "image":
            serve = settings.serve
            env |= {"VLLM_HOST": listen_address(settings), "VLLM_PORT": str(serve.port)}
            if serve.max_model_len is not None:
                env["VLLM_MAX_MODEL_LEN"] = str(serve.max_model_len)
            if serve.gpu_memory_utilization is not None:
                env["VLLM_GPU_MEMORY_UTIL"] = str(serve.gpu_memory_utilization)
        return env

    def _uploads(self) -> tuple[Upload, ...]:
        files: list[Upload] = []
        if self._settings.image.entrypoint != "image":
            files += uploads(SUPERVISE_PROGRAM, LIVENESS_PROGRAM)
        if self._settings.spans_hosts:
            names = json.dumps(not_carried_over(self._settings))
            files += [
                *uploads(CONTRACT_PROGRAM),
                # Read by vllm/v1/executor/ray_executor.py as a list of names.
                Upload(path=f"{CONFIG_ROOT}/ray_non_carry_over_env_vars.json", content=names),
            ]
        if self._settings.api_key is not None:
            files += uploads(KEY_PROGRAM)
        return tuple(files)

    def _secret_uploads(self) -> tuple[SecretUpload, ...]:
        key = self._settings.api_key
        return (SecretUpload(path=KEY_FILE, content=key),) if key is not None else ()

    def _name(self, host: HostSettings, part: str) -> str:
        return container_name(self._stack, host.name, part)

    def _labels(self, role: str, *ports: int) -> dict[str, str]:
        revision = self._settings.model.revision
        return {
            "dev.tandem.stack": self._stack,
            "dev.tandem.role": role,
            "dev.tandem.ports": ",".join(str(port) for port in ports),
            # Weights that are loaded stay: other files need other containers.
            **({"dev.tandem.revision": revision} if revision else {}),
        }

    def _model_mount(self, host: HostSettings) -> Mount:
        return Mount(volume=self.model_volume(host).name, target=MODEL_FOLDER, read_only=True)

    def _session_mount(self) -> Mount:
        return Mount(volume=self.session_volume().name, target="/tmp", read_only=False)


def _node_options(host: HostSettings) -> tuple[str, ...]:
    return (
        f"--node-ip-address={host.address}",
        f"--num-gpus={host.gpu_count}",
        "--disable-usage-stats",
    )
