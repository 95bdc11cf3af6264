"""Where the tool chain lives, and the environment in which its programs run."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The folders of one clone; everything that is built stays below `build`."""

    root: Path

    @property
    def sources(self) -> Path:
        """One Go module per built piece."""
        return self.root / "tools" / "go"

    @property
    def build(self) -> Path:
        """The git-ignored folder of everything that is built."""
        return self.root / "tools" / ".build"

    @property
    def programs(self) -> Path:
        """The built programs; goes on PATH."""
        return self.build / "bin"

    @property
    def home(self) -> Path:
        """PULUMI_HOME of the built tool chain: its plugins are no other Pulumi's business."""
        return self.build / "home"

    @property
    def choice(self) -> Path:
        """The file that tells `tools/run` which tool chain was installed."""
        return self.build / "toolchain"


HERE = Layout(Path(__file__).resolve().parent.parent)


def built_environment(layout: Layout, base: Mapping[str, str]) -> dict[str, str]:
    """Return `base` with the built tool chain in front."""
    return {
        **base,
        "PATH": f"{layout.programs}{os.pathsep}{base.get('PATH', os.defpath)}",
        "PULUMI_HOME": str(layout.home),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }


def environment(layout: Layout, base: Mapping[str, str]) -> dict[str, str]:
    """Return `base` with the installed tool chain in front, whichever it is.

    Raises FileNotFoundError when `python3 -m tools install` has not been run.
    """
    if layout.choice.read_text().strip() == "built":
        return built_environment(layout, base)
    return {**base, "PULUMI_SKIP_UPDATE_CHECK": "true"}
