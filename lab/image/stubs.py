"""Stand-ins for libraries that have to be there for the linker, and are never called."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.chroot import run_inside

_CODE_TYPES = "TWi"
_SYMBOL = re.compile(r"[0-9a-f]+ ([0-9a-f]+ )?(\w) ([^@\s]+)(?:@@?(\S+))?")


@dataclass(frozen=True)
class Symbol:
    """A name that a library defines for others; the version is empty when it has none."""

    name: str
    version: str
    is_code: bool
    size: int  # bytes


def replace(root: Path, library: Path) -> None:
    """Replace a library of a root file system by one with the same symbols and nothing in them."""
    place = f"/{library.relative_to(root)}"
    listing = run_inside(root, ["nm", "--dynamic", "--defined-only", "--print-size", place])
    symbols = parse(listing)
    # The compiler runs inside, where only the root file system is common ground.
    source, versions = library.with_suffix(".c"), library.with_suffix(".map")
    source.write_text(source_of(symbols))
    versions.write_text(versions_of(symbols))
    library.unlink()
    base = place.rsplit(".", 1)[0]
    options = ["-w", "-fno-builtin", "-shared", "-fPIC", "-nostdlib", f"-Wl,-soname,{library.name}"]
    options += [f"-Wl,--version-script={base}.map"] if any(s.version for s in symbols) else []
    run_inside(root, ["gcc", *options, "-o", place, f"{base}.c"])
    source.unlink()
    versions.unlink()


def parse(listing: str) -> list[Symbol]:
    """Return the symbols that `nm --dynamic --print-size` listed, each name once."""
    found: dict[str, Symbol] = {}
    for line in listing.splitlines():
        match = _SYMBOL.fullmatch(line.strip())
        # The names of versions themselves are listed too, as absolute symbols.
        if match and match[2] != "A" and match[3].isidentifier():
            size = int(match[1], 16) if match[1] else 0
            found.setdefault(
                match[3], Symbol(match[3], match[4] or "", match[2] in _CODE_TYPES, size)
            )
    return list(found.values())


def source_of(symbols: Iterable[Symbol]) -> str:
    """Return C source that defines symbols: functions that report failure, and zeros."""
    return "".join(
        f"int {s.name}(void) {{ return 1; }}\n" if s.is_code else f"char {s.name}[{s.size or 8}];\n"
        for s in symbols
    )


def versions_of(symbols: Iterable[Symbol]) -> str:
    """Return a linker's version script that gives symbols their versions."""
    by_version: dict[str, list[str]] = {}
    for symbol in symbols:
        if symbol.version:
            by_version.setdefault(symbol.version, []).append(symbol.name)
    return "".join(
        f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in by_version.items()
    )
