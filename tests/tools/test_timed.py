"""What `make test` says at its end."""

import subprocess
import sys
from pathlib import Path

MAKEFILE = """
first second:
	@echo making $@
broken:
	@exit 3
"""


def timed(folder: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "tools").symlink_to(Path(__file__).resolve().parents[2] / "tools")
    return subprocess.run(
        [sys.executable, "-m", "tools.timed", *targets],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_target_is_made_in_order_and_listed_with_its_time(tmp_path: Path) -> None:
    done = timed(tmp_path, "first", "second")
    assert done.returncode == 0, done
    assert done.stdout.splitlines() == [
        "making first",
        "making second",
        "",
        "Where the time went:",
        "first     0 min  0 s",
        "second    0 min  0 s",
        "all       0 min  0 s",
    ]


def test_the_first_failure_ends_it_with_a_failure_of_its_own_and_a_list_all_the_same(
    tmp_path: Path,
) -> None:
    done = timed(tmp_path, "first", "broken", "second")
    assert done.returncode == 2
    assert "making second" not in done.stdout
    assert "broken    0 min  0 s" in done.stdout
    assert done.stderr.endswith("failed: make broken\n")
