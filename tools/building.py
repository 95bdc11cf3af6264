"""Building the pieces that are out of date, each of them whole or not at all."""

import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.golang import find_go
from tools.layout import Layout, built_environment
from tools.pieces import PIECES, Piece
from tools.process import InstallError, logged

Say = Callable[[str], None]


def marker(layout: Layout, piece: Piece) -> Path:
    """Return the file that holds the fingerprint of the piece as it was built."""
    return layout.build / "ready" / piece.name


def is_ready(layout: Layout, piece: Piece) -> bool:
    """Tell whether the piece was built from exactly the present sources."""
    products = [layout.programs / piece.program] if piece.plugin_version is None else []
    if piece.plugin_version is not None:
        plugin = f"resource-{piece.name}-v{piece.plugin_version}"
        products.append(layout.home / "plugins" / plugin / piece.program)
    if piece.script is not None:
        products.append(layout.programs / Path(piece.script[1]).name)
    try:
        fresh = marker(layout, piece).read_text() == piece.fingerprint(layout)
    except FileNotFoundError:
        return False
    return fresh and all(product.exists() for product in products)


def build(layout: Layout, say: Say) -> None:
    """Build what is out of date.

    Raises InstallError when a build fails; what was finished before stays finished.
    """
    stale = [piece for piece in PIECES if not is_ready(layout, piece)]
    if not stale:
        say("built tool chain is up to date")
        return
    # What an interrupted build left; its compiled packages are in Go's cache, so little is lost.
    shutil.rmtree(layout.build / "tmp", ignore_errors=True)
    for folder in ("tmp", "bin", "home", "ready", "logs"):
        (layout.build / folder).mkdir(parents=True, exist_ok=True)
    go = find_go(layout)
    for number, piece in enumerate(stale, 1):
        progress = _Progress(f"[{number}/{len(stale)}] {piece.title}", say)
        progress("building")
        start = time.monotonic()
        _build_piece(layout, go, piece, progress.alive)
        progress(f"ready after {_clock(time.monotonic() - start)}")


@dataclass(frozen=True)
class _Progress:
    """The lines about one piece."""

    label: str
    say: Say

    def __call__(self, text: str) -> None:
        self.say(f"{self.label}: {text}")

    def alive(self, seconds: float) -> None:
        self(f"still building, {_clock(seconds)}")


def _build_piece(layout: Layout, go: Path, piece: Piece, alive: Callable[[float], None]) -> None:
    module = layout.sources / piece.name
    fingerprint = piece.fingerprint(layout)
    temporary = layout.build / "tmp" / piece.name
    temporary.mkdir()
    log = layout.build / "logs" / f"{piece.name}.log"
    log.unlink(missing_ok=True)
    program = temporary / piece.program
    # No workspace of the user around this clone may change what is built.
    env = {**os.environ, "GOWORK": "off"}
    logged([str(go), *piece.arguments(program)], log, module, env, alive)
    marker(layout, piece).unlink(missing_ok=True)
    if piece.plugin_version is None:
        program.replace(layout.programs / piece.program)
    else:
        _install_plugin(layout, piece, program, log)
    if piece.script is not None:
        _copy_script(layout, go, piece.script, module, env)
    ready = temporary / "ready"
    ready.write_text(fingerprint)
    ready.replace(marker(layout, piece))
    shutil.rmtree(temporary)


def _install_plugin(layout: Layout, piece: Piece, program: Path, log: Path) -> None:
    """Put a plugin into the home: one found on PATH instead makes Pulumi warn at every run."""
    archive = program.with_suffix(".tgz")
    with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
        packed.add(program, piece.program)
    name_and_version = [piece.name, str(piece.plugin_version)]
    command = [str(layout.programs / "pulumi"), "plugin", "install", "resource", *name_and_version]
    env = built_environment(layout, os.environ)
    logged(
        [*command, "--file", str(archive), "--reinstall"], log, layout.build, env, lambda _: None
    )


def _copy_script(
    layout: Layout, go: Path, script: tuple[str, str], module: Path, env: dict[str, str]
) -> None:
    package, path = script
    command = [str(go), "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", package]
    found = subprocess.run(command, cwd=module, env=env, capture_output=True, text=True)
    if found.returncode != 0:
        raise InstallError(f"{package} is not in the Go module cache: {found.stderr.strip()}")
    source = Path(found.stdout.strip()) / path
    temporary = layout.build / "tmp" / source.name
    shutil.copyfile(source, temporary)
    temporary.chmod(0o755)
    temporary.replace(layout.programs / source.name)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"
