"""What a gate is told: plain data that travels as JSON on standard input."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from tandem.ssh import SshTarget


@dataclass(frozen=True)
class Watched:
    """A container that a gate keeps an eye on."""

    host: str
    target: SshTarget
    container: str

    @classmethod
    def of(cls, data: dict[str, Any]) -> Watched:
        """Make one from JSON data."""
        return cls(data["host"], _target(data), data["container"])


@dataclass(frozen=True)
class KeepSpec:
    """A container whose log is to be kept before it is removed."""

    watched: Watched
    holds: tuple[str, ...]
    """Containers that are removed only after it."""
    id: str = ""
    """Docker's own name of the container: another one may have taken the place."""

    def to_json(self) -> str:
        """Return the spec as JSON, the same text for the same spec."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> KeepSpec:
        """Read what ``to_json`` wrote."""
        data = json.loads(text)
        return cls(Watched.of(data["watched"]), tuple(data["holds"]), data["id"])


@dataclass(frozen=True)
class ReleaseSpec:
    """A host that has to be free again once a deployment is gone."""

    stack: str
    host: str
    target: SshTarget
    memory_bytes: int | None
    """How much memory may be missing that no process holds; None leaves it to the gate."""
    timeout_seconds: int

    def to_json(self) -> str:
        """Return the spec as JSON, the same text for the same spec."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> ReleaseSpec:
        """Read what ``to_json`` wrote."""
        data = json.loads(text)
        return cls(**{**data, "target": _target(data)})


@dataclass(frozen=True)
class WeightsFolder:
    """The model's files on one host: the volume that is bound to them, or holds them."""

    host: str
    target: SshTarget
    volume: str
    device: str | None
    """The host's folder; another one has to be verified anew. None with files from the Hub."""
    hashes: str
    """Volume that keeps what was hashed, so that it is not read again."""

    @classmethod
    def of(cls, data: dict[str, Any]) -> WeightsFolder:
        """Make one from JSON data."""
        return cls(**{**data, "target": _target(data)})


@dataclass(frozen=True)
class HubSource:
    """Where the files come from."""

    endpoint: str | None
    """The Hub's address; None is what HF_ENDPOINT says to whoever runs the gate."""


@dataclass(frozen=True)
class WeightsSpec:
    """What the weights gate compares: every host's files with the manifest."""

    folders: tuple[WeightsFolder, ...]
    """The first one is what a manifest is made from where there is none."""
    image: str
    """Its ``python3`` hashes the files."""
    model: str
    revision: str | None
    """Commit that the files are declared to be of."""
    manifest: str
    """A file of JSON, relative to the project's folder."""
    hub: HubSource | None = None
    """None where somebody puts the files there."""

    def to_json(self) -> str:
        """Return the spec as JSON, the same text for the same spec."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> WeightsSpec:
        """Read what ``to_json`` wrote."""
        data = json.loads(text)
        data["folders"] = tuple(WeightsFolder.of(one) for one in data["folders"])
        data["hub"] = HubSource(**data["hub"]) if data["hub"] else None
        return cls(**data)


@dataclass(frozen=True)
class ImageHost:
    """A host that has the image."""

    host: str
    target: SshTarget

    @classmethod
    def of(cls, data: dict[str, Any]) -> ImageHost:
        """Make one from JSON data."""
        return cls(data["host"], _target(data))


@dataclass(frozen=True)
class ImageSpec:
    """What the image gate looks at: the same versions on all hosts, Ray among them."""

    hosts: tuple[ImageHost, ...]
    image: str
    """``repository@sha256:…``."""
    needs_ray: bool
    record: str
    """Where the versions are kept: a file of JSON, relative to the project's folder."""

    def to_json(self) -> str:
        """Return the spec as JSON, the same text for the same spec."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> ImageSpec:
        """Read what ``to_json`` wrote."""
        data = json.loads(text)
        return cls(**{**data, "hosts": tuple(ImageHost.of(one) for one in data["hosts"])})


@dataclass(frozen=True)
class Node:
    """A Ray node that has to join: its container, its address and its number of GPUs."""

    watched: Watched
    address: str
    gpus: int


@dataclass(frozen=True)
class JoinSpec:
    """What the join gate waits for: exactly these nodes in the Ray cluster of the first one."""

    program: ClassVar[str] = "join"
    nodes: tuple[Node, ...]
    ray_address: str
    timeout_seconds: int

    def to_json(self) -> str:
        """Return the spec as JSON, the same text for the same spec."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> JoinSpec:
        """Read what ``to_json`` wrote."""
        data = json.loads(text)
        nodes = tuple(
            Node(Watched.of(node["watched"]), node["address"], node["gpus"])
            for node in data["nodes"]
        )
        return cls(nodes, data["ray_address"], data["timeout_seconds"])


@dataclass(frozen=True)
class RankHost:
    """A host with ranks of vLLM: its container, its address, and the words that start vLLM."""

    watched: Watched
    address: str
    ranks: tuple[int, ...]
    words: tuple[str, ...]
    """The container's arguments; others are of another stack file."""

    @classmethod
    def of(cls, data: dict[str, Any]) -> RankHost:
        """Make one from JSON data."""
        watched, ranks, words = Watched.of(data["watched"]), data["ranks"], data["words"]
        return cls(watched, data["address"], tuple(ranks), tuple(words))


@dataclass(frozen=True)
class RanksSpec:
    """What the ranks gate waits for: exactly these ranks, connected to the first host."""

    program: ClassVar[str] = "ranks"
    hosts: tuple[RankHost, ...]
    master_address: str
    master_port: int
    timeout_seconds: int

    def to_json(self) -> str:
        """Return the spec as JSON, the same text for the same spec."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> RanksSpec:
        """Read what ``to_json`` wrote."""
        data = json.loads(text)
        return cls(**{**data, "hosts": tuple(RankHost.of(one) for one in data["hosts"])})


@dataclass(frozen=True)
class Record:
    """Where and as what a gate keeps what the start logged."""

    path: str
    """A file of JSON, relative to the project's folder."""
    start: dict[str, Any]
    """What tells this start from others whose memory is another."""
    requested_bytes: int
    """What vLLM asks for on a rank."""


@dataclass(frozen=True)
class ReadySpec:
    """What the ready gate waits for: the server lists its model and completes a chat."""

    server: Watched
    others: tuple[Watched, ...]
    url: str
    served_name: str
    expects_reasoning: bool
    timeout_seconds: int
    key_file: str | None = None
    """Where the server's container has the API's key; None when the API has none."""
    record: Record | None = None
    """None where there is nothing to learn."""

    def to_json(self) -> str:
        """Return the spec as JSON, the same text for the same spec."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> ReadySpec:
        """Read what ``to_json`` wrote."""
        data = json.loads(text)
        data["server"] = Watched.of(data["server"])
        data["others"] = tuple(Watched.of(other) for other in data["others"])
        data["record"] = Record(**data["record"]) if data["record"] else None
        return cls(**data)


def _target(data: dict[str, Any]) -> SshTarget:
    return SshTarget(data["target"]["destination"], tuple(data["target"]["options"]))
