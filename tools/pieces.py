"""The pieces of the built tool chain: what is built from which Go module, and how."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from tools.layout import Layout

PULUMI_VERSION = "3.276.0"
PLUGIN_VERSIONS = {"docker": "5.2.0", "command": "1.2.1"}

_SDK = "github.com/pulumi/pulumi/sdk/v3"


@dataclass(frozen=True)
class Piece:
    """One Go module under tools/go and the program that is built from it."""

    name: str
    title: str
    package: str
    program: str
    symbols: dict[str, str] = field(default_factory=dict)
    tags: str = ""
    plugin_version: str | None = None
    # A script that comes inside a Go module: (module, path in it).
    script: tuple[str, str] | None = None

    def arguments(self, output: Path) -> list[str]:
        """Return the arguments of `go` that build the program into `output`."""
        link = " ".join(
            ["-s", "-w", *(f"-X {name}={value}" for name, value in self.symbols.items())]
        )
        # readonly: what is built is what go.mod and go.sum pin, on every machine.
        arguments = ["build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", link]
        if self.tags:
            arguments += ["-tags", self.tags]
        return [*arguments, "-o", str(output), self.package]

    def fingerprint(self, layout: Layout) -> str:
        """Return a hash of what the built program depends on: the module's files and the recipe."""
        digest = hashlib.sha256(repr((self.arguments(Path()), self.script)).encode())
        for path in sorted((layout.sources / self.name).iterdir()):
            if path.suffix in {".go", ".mod", ".sum"} and not path.name.endswith("_test.go"):
                digest.update(f"\0{path.name}\0".encode())
                digest.update(path.read_bytes())
        return digest.hexdigest()


def _plugin(name: str, title: str, tags: str = "") -> Piece:
    version = PLUGIN_VERSIONS[name]
    return Piece(
        name=name,
        title=f"{title} {version}",
        package=".",
        program=f"pulumi-resource-{name}",
        symbols={"main.version": version},
        tags=tags,
        plugin_version=version,
    )


# The CLI comes first: it installs the plugins.
PIECES = (
    Piece(
        name="pulumi",
        title=f"Pulumi CLI {PULUMI_VERSION}",
        package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        program="pulumi",
        symbols={f"{_SDK}/go/common/version.Version": f"v{PULUMI_VERSION}"},
        script=(_SDK, "python/cmd/pulumi-language-python-exec"),
    ),
    Piece(
        name="language-python",
        title="Python language host 3.68.0",
        package=f"{_SDK}/python/cmd/pulumi-language-python",
        program="pulumi-language-python",
    ),
    _plugin("docker", "docker plugin", tags="no_compose"),
    _plugin("command", "stand-in for the command plugin"),
)
