"""Takes out of a root file system what CPUs never load: pulls are a good part of a test's time."""

import shutil
import struct
from pathlib import Path

from lab.chroot import run_inside
from lab.image import stubs
from lab.shell import run

_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")


def remove_unused(site_packages: Path, patterns: list[str]) -> None:
    """Delete the files and folders that match the patterns."""
    for pattern in patterns:
        for path in list(site_packages.glob(pattern)):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.is_symlink() or path.exists():
                path.unlink()


def replace_cuda(root: Path, site_packages: str, kept: list[str]) -> None:
    """Make CUDA's libraries small: stubs of those that torch is linked to, none of the others.

    The libraries of which the name is in kept stay as they are.
    """
    packages = root / site_packages
    torch_libraries = [*packages.glob("torch/lib/*.so*"), *packages.glob("torch/_C*.so")]
    inside = [f"/{library.relative_to(root)}" for library in torch_libraries]
    output = run_inside(root, ["sh", "-c", 'ldd "$@" 2>/dev/null || true', "sh", *inside])
    linked = {line.split()[0] for line in output.splitlines() if "=>" in line}
    for library in sorted(packages.glob("nvidia/*/lib/**/*.so*")):
        if library.name not in linked:
            library.unlink()
        elif library.name not in kept:
            stubs.replace(root, library)
    # Loaded with the first linear algebra on a GPU.
    (packages / "torch" / "lib" / "libtorch_cuda_linalg.so").unlink()


def punch_gpu_code(library: Path) -> None:
    """Make a hole of the GPU machine code in a library.

    The section .nv_fatbin is data that the CUDA driver reads when there is one. Offsets stay as
    they are, so the library loads as before.
    """
    for offset, length in _sections(library, ".nv_fatbin"):
        place = ["--offset", str(offset), "--length", str(length)]
        run(["fallocate", "--punch-hole", *place, library])


def _sections(path: Path, wanted: str) -> list[tuple[int, int]]:
    """Offset and length in bytes of the sections of a name in a 64-bit little-endian ELF file."""
    with path.open("rb") as file:
        header = _ELF_HEADER.unpack(file.read(_ELF_HEADER.size))
        table, entry_size, count, names_index = header[6], header[11], header[12], header[13]
        file.seek(table)
        raw = file.read(entry_size * count)
        entries = [_SECTION.unpack_from(raw, index * entry_size) for index in range(count)]
        file.seek(entries[names_index][4])
        names = file.read(entries[names_index][5])
    found = []
    for entry in entries:
        name = names[entry[0] : names.index(b"\0", entry[0])].decode()
        if name == wanted:
            found.append((entry[4], entry[5]))
    return found
