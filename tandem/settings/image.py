"""``tandem:image``: the container image that holds vLLM."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tandem.settings.base import SettingsModel

_REFERENCE = (
    r"^[a-z0-9][a-zA-Z0-9._:/-]*(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$"
)


class ImageSettings(SettingsModel):
    """The image, the same on every host."""

    reference: Annotated[str, Field(pattern=_REFERENCE)]
    """``registry/repository:tag@sha256:…``; a tag alone is resolved to a digest at each preview."""
    entrypoint: Literal["vllm", "image"] | Annotated[tuple[str, ...], Field(min_length=1)] = "vllm"
    """What starts the server: ``vllm`` (``vllm serve``), ``image`` (the image's own entrypoint), or
    a list of words."""
    vllm: Annotated[str, Field(pattern=r"^\d+\.\d+(\.\d+)?[\w.+-]*$")] | None = None
    """Version of vLLM in the image, in quotes, for the rules that depend on it: ``"0.19.1"``. When
    absent it is what an ``up`` has found in the image; before the first one it is read from the tag
    of ``vllm/vllm-openai``, and not known of any other image."""

    @property
    def repository(self) -> str:
        """Return the reference without tag and digest."""
        name = self.reference.partition("@")[0]
        head, slash, last = name.rpartition("/")
        return head + slash + last.partition(":")[0]

    @property
    def tagged(self) -> str:
        """Return the reference without digest, the name that can stand for another image later."""
        return self.reference.partition("@")[0]

    @property
    def digest(self) -> str | None:
        """Return the declared digest (``sha256:…``), or None when there is only a tag."""
        return self.reference.partition("@")[2] or None
