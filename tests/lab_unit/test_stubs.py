"""Stand-ins of libraries."""

import ctypes
import subprocess
from pathlib import Path

from lab.image import stubs

LISTING = """\
0000000000000000 A LIB_1.0
0000000000001200 0000000000000010 T lib_call@@LIB_1.0
0000000000001210 0000000000000010 T lib_call@LIB_0.9
0000000000004000 0000000000000020 B lib_table@@LIB_1.0
0000000000001300 0000000000000004 T plain
0000000000001400 W weird.name
"""


def test_parse() -> None:
    assert stubs.parse(LISTING) == [
        stubs.Symbol("lib_call", "LIB_1.0", True, 16),
        stubs.Symbol("lib_table", "LIB_1.0", False, 32),
        stubs.Symbol("plain", "", True, 4),
    ]


def test_what_is_made_compiles_and_reports_failure(tmp_path: Path) -> None:
    symbols = stubs.parse(LISTING)
    (tmp_path / "lib.c").write_text(stubs.source_of(symbols))
    (tmp_path / "lib.map").write_text(stubs.versions_of(symbols))
    options = ["-shared", "-fPIC", "-nostdlib", f"-Wl,--version-script={tmp_path}/lib.map"]
    library = tmp_path / "lib.so"
    subprocess.run(["gcc", *options, "-o", library, tmp_path / "lib.c"], check=True)
    listed = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True)
    assert "lib_call@@LIB_1.0" in listed.stdout
    assert ctypes.CDLL(str(library)).lib_call() == 1
