"""What a look at the hosts found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tandem.survey.base import FactsModel
from tandem.survey.docker import ContainerFacts, DockerFacts, LocalImage
from tandem.survey.gpus import Gpu
from tandem.survey.machine import ClockFacts, DiskFacts, MemoryFacts, SystemFacts
from tandem.survey.model_folder import ModelFolder
from tandem.survey.network import Interface, Listener, Route
from tandem.survey.rdma import RdmaFacts

if TYPE_CHECKING:
    from collections.abc import Sequence


class HostFacts(FactsModel):
    """One host as it is."""

    name: str
    problem: str | None = None
    """Why SSH could not look at the host, in its own words; the other facts are empty then."""
    skipped: bool = False
    """Nobody looked: the host is retired."""
    system: SystemFacts = SystemFacts()
    memory: MemoryFacts | None = None
    clock: ClockFacts | None = None
    docker: DockerFacts = DockerFacts()
    docker_disk: DiskFacts | None = None
    """Where Docker keeps images."""
    model_disk: DiskFacts | None = None
    """Where the model's folder is."""
    containers: tuple[ContainerFacts, ...] = ()
    """All containers of the host."""
    images: tuple[LocalImage, ...] = ()
    """Those of the declared repository."""
    image: LocalImage | None = None
    """The one that is to run; None when the host has to pull it."""
    gpus: tuple[Gpu, ...] = ()
    gpu_problem: str | None = None
    """What nvidia-smi said instead of a list of GPUs."""
    interfaces: tuple[Interface, ...] | None = None
    """None when the host has no program ``ip`` to ask."""
    routes: dict[str, Route] = {}
    """The way to each other host, by its address."""
    paths: dict[str, str | None] = {}
    """Whether TCP gets to each other host, by its address: None, or why it does not."""
    rdma: RdmaFacts = RdmaFacts()
    listeners: tuple[Listener, ...] = ()
    """TCP ports that something listens on, the deployment's own containers left out."""
    model: ModelFolder = ModelFolder()
    fetched_bytes: int | None = None
    """Bytes in the volume that files from the Hub come to, 0 without one; None: not known."""

    def interface_of(self, address: str) -> Interface | None:
        """Return the interface that holds an IPv4 address."""
        for interface in self.interfaces or ():
            if address in interface.addresses:
                return interface
        return None

    def used_gpus(self, declared: int | Sequence[str]) -> tuple[Gpu, ...]:
        """Return the GPUs that a declaration takes: the first ones, or those with the ids."""
        if isinstance(declared, int):
            return self.gpus[:declared]
        return tuple(gpu for gpu in self.gpus if {str(gpu.index), gpu.uuid} & set(declared))

    @property
    def is_serving(self) -> bool:
        """Tell whether containers of the deployment run; the state of others is not looked at."""
        return any(container.state == "running" for container in self.containers)

    def image_named(self, name: str) -> LocalImage | None:
        """Return the image that goes by a reference with a tag or a digest."""
        return next((image for image in self.images if name in image.names), None)

    @property
    def was_seen(self) -> bool:
        """Tell whether SSH could look at the host."""
        return self.problem is None and not self.skipped

    @property
    def is_usable(self) -> bool:
        """Tell whether the host was looked at, Docker included."""
        return self.was_seen and self.docker.problem is None


class ImageFacts(FactsModel):
    """What the first host's Docker says of the image."""

    digest: str | None = None
    """The digest (``sha256:…``) that the reference stands for, or None when it is not known."""
    platforms: tuple[str, ...] = ()
    """What it is made for, such as ``linux/arm64``; empty when the registry did not say."""
    layers_bytes: int | None = None
    """Compressed bytes of its layers for the first host's platform, asked when that lacks it."""
    problem: str | None = None
    """Why the digest is not known, in Docker's words."""


class HubFacts(FactsModel):
    """What the Hub says of the model at the declared revision."""

    endpoint: str
    """The Hub's address."""
    commit: str | None = None
    """What the revision stands for now."""
    files_bytes: int | None = None
    """Bytes of all files that a host fetches."""
    refusal: str | None = None
    """Why the model can't be had from there, in words."""


class ImageContent(FactsModel):
    """What an image holds, as the image gate saw it in a container."""

    digest: str
    python: str
    ray: str | None
    """Its version, or None: the image has no Ray."""
    vllm: str | None


class ModelFacts(FactsModel):
    """What the model's own files say."""

    config: dict[str, Any]
    """Its ``config.json``."""
    weights_bytes: int | None = None
    """Bytes of all tensors by the headers of the safetensors files, or None: not read."""


class StartFacts(FactsModel):
    """What an earlier start logged of its memory. Sizes in bytes, for one rank."""

    start: dict[str, Any]
    """What tells this start from others whose memory is another."""
    weights_bytes: int | None
    non_kv_bytes: int
    """What vLLM asked for less what it left for the KV cache."""
    when: str
    """The day."""


class Facts(FactsModel):
    """All hosts, the image, the Hub, the model, and what earlier starts and images showed."""

    stack: str = ""
    """The stack whose containers count as the deployment's own."""
    hosts: tuple[HostFacts, ...] = ()
    """Empty when nobody looked at them."""
    image: ImageFacts = ImageFacts()
    hub: HubFacts | None = None
    """None when nobody asked it, or it did not answer."""
    model: ModelFacts | None = None
    """None when nobody has read a config.json."""
    starts: tuple[StartFacts, ...] = ()
    images: tuple[ImageContent, ...] = ()
    """Images that an `up` has looked into."""
