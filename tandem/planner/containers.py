"""What all containers of a stack share, from settings and each host's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.planner.arguments import MODEL_FOLDER, listen_address, server_url
from tandem.planner.environment import host_environment
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

KEY_PROGRAM = "/tandem/with_key.py"
KEY_FILE = "/tandem/api-key"


class Containers:
    """Makes the specs of one stack's containers; which there are is the backend's to say."""

    def __init__(
        self, settings: Settings, stack: str, interfaces: Mapping[str, str | None]
    ) -> None:
        self._settings = settings
        self.stack = stack
        self._interfaces = interfaces

    def model_volume(self, host: HostSettings) -> VolumeSpec:
        """Return the volume that holds the weights on ``host``."""
        model = self._settings.model
        if model.source.hub:
            name = model.source.on_host(self.stack, host.name)
            return VolumeSpec(name=name, is_kept=not model.delete_on_destroy)
        return VolumeSpec(name=self.volume_name(host, "model"), device=model.source.path)

    def hashes_volume(self, host: HostSettings) -> VolumeSpec:
        """Return the volume that keeps the hashes of the weights on ``host``."""
        return VolumeSpec(name=self.volume_name(host, "hashes"))

    def volume_name(self, host: HostSettings, part: str) -> str:
        """Return the name of a volume of this stack on ``host``."""
        return f"tandem-{self.stack}-{host.name}-{part}"

    def container(
        self,
        host: HostSettings,
        part: str,
        *,
        kind: str,
        role: str,
        entrypoint: tuple[str, ...] | None,
        command: tuple[str, ...],
        env: Mapping[str, str],
        mounts: tuple[Mount, ...] = (),
        ports: tuple[int, ...] = (),
        **more: Any,
    ) -> ContainerSpec:
        """Return a container with the model, the GPUs and the variables of its host.

        ``part`` ends its name. ``ports`` are what it listens on. ``more`` is what else a
        ContainerSpec has.
        """
        settings = self._settings
        model = Mount(volume=self.model_volume(host).name, target=MODEL_FOLDER, read_only=True)
        return ContainerSpec(
            name=container_name(self.stack, host.name, part),
            host=host.name,
            part=part,
            kind=kind,
            role=role,
            entrypoint=entrypoint,
            command=command,
            env=host_environment(settings, host, self._interfaces.get(host.name)) | dict(env),
            mounts=(model, *mounts),
            gpus=host.gpus,
            shm_bytes=settings.shm_size,
            rdma=settings.rdma,
            labels=self._labels(role, ports),
            **more,
        )

    def server(
        self,
        arguments: tuple[str, ...],
        *,
        before: tuple[str, ...] = (),
        around: tuple[str, ...] = (),
        env: Mapping[str, str],
        files: tuple[Upload, ...] = (),
        ports: tuple[int, ...] = (),
        **more: Any,
    ) -> ContainerSpec:
        """Return the server with the API, on the first host.

        ``before`` are the words of a program that becomes the command behind it, ``around`` those
        of one that each start of vLLM runs in. ``ports`` are what it listens on besides the API's
        port.
        """
        settings = self._settings
        entrypoint = self._entrypoint(before, around)
        return self.container(
            settings.hosts[0],
            "server",
            kind="VllmServer",
            role="server",
            entrypoint=entrypoint,
            command=arguments,
            env={**env, **self._image_environment(), **settings.serve.env},
            uploads=(*self._programs(), *files, *self._key_program()),
            secret_uploads=self._secret_uploads(),
            ports=(settings.serve.port, *ports),
            # The image's own entrypoint is not known, so nothing can be put before it.
            restart_limit=settings.restarts.limit if entrypoint is None else 0,
            health=health_check(settings) if entrypoint is not None else None,
            **more,
        )

    def start_words(self) -> tuple[str, ...] | None:
        """Return what starts vLLM in the image; None leaves it to the image's own entrypoint."""
        entrypoint = self._settings.image.entrypoint
        if entrypoint == "image":
            return None
        return ("vllm", "serve") if entrypoint == "vllm" else entrypoint

    def _entrypoint(
        self, before: tuple[str, ...], around: tuple[str, ...]
    ) -> tuple[str, ...] | None:
        settings, start = self._settings, self.start_words()
        if start is None:
            return None
        key_file = KEY_FILE if settings.api_key is not None else None
        if key_file is not None:
            start = ("python3", KEY_PROGRAM, key_file, *start)
        watch = watched(settings, server_url(settings), key_file, start)
        return (*before, *supervised(settings, *around, *watch))

    def _image_environment(self) -> dict[str, str]:
        """Return the variables that configure an image with an entrypoint of its own."""
        settings, serve = self._settings, self._settings.serve
        if settings.image.entrypoint != "image":
            return {}
        env = {"VLLM_HOST": listen_address(settings), "VLLM_PORT": str(serve.port)}
        if serve.max_model_len is not None:
            env["VLLM_MAX_MODEL_LEN"] = str(serve.max_model_len)
        if serve.gpu_memory_utilization is not None:
            env["VLLM_GPU_MEMORY_UTIL"] = str(serve.gpu_memory_utilization)
        return env

    def _programs(self) -> tuple[Upload, ...]:
        if self._settings.image.entrypoint == "image":
            return ()
        return uploads(SUPERVISE_PROGRAM, LIVENESS_PROGRAM)

    def _key_program(self) -> tuple[Upload, ...]:
        return uploads(KEY_PROGRAM) if self._settings.api_key is not None else ()

    def _secret_uploads(self) -> tuple[SecretUpload, ...]:
        key = self._settings.api_key
        return (SecretUpload(path=KEY_FILE, content=key),) if key is not None else ()

    def _labels(self, role: str, ports: tuple[int, ...]) -> dict[str, str]:
        revision = self._settings.model.revision
        return {
            "dev.tandem.stack": self.stack,
            "dev.tandem.role": role,
            "dev.tandem.ports": ",".join(str(port) for port in ports),
            # Weights that are loaded stay: other files need other containers.
            **({"dev.tandem.revision": revision} if revision else {}),
        }
