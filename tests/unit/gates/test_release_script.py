"""What release.sh prints and what reads it are a pair: the script runs here, on made processes."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from tandem.gates.keep import keep
from tandem.gates.release import Figures, Look, Process, read_look
from tandem.gates.spec import KeepSpec
from tandem.units import GIB, MIB
from tests.builders import watched
from tests.shell import program
from tests.unit.gates.docker import ID

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.gates.docker import FakeDocker

KIB = 1024
HEAD, SERVER = "tandem-test-host-1-ray-head", "tandem-test-host-1-server"
SMI = """[ "$1" = --format=csv,noheader,nounits ] || exit 2
case $2 in
--query-gpu=memory.used) printf '400\\n80000\\n' ;;
--query-compute-apps=pid,used_memory) printf '7, 1024\\n8, 512\\n' ;;
esac"""


def printed(root: Path) -> str:
    """Return what release.sh prints where all processes are those below ``root``/proc."""
    script = resources.files("tandem.gates").joinpath("release.sh").read_text()
    assert "/proc" in script
    words = ("sh", "-s", "--", "test")
    answer = watched(1).target.run(*words, stdin=script.replace("/proc", f"{root}/proc"))
    assert (answer.returncode, answer.stderr) == (0, "")
    return answer.stdout


def process(root: Path, pid: int, cgroup: str, state: str = "D (disk sleep)") -> None:
    """Make a process that shares 1 GiB of memory."""
    folder = root / "proc" / str(pid)
    folder.mkdir(parents=True)
    (folder / "comm").write_text("VLLM::Worker TP0\n")
    (folder / "cgroup").write_text(f"0::/system.slice/docker-{cgroup}.scope\n")
    (folder / "status").write_text(f"State:\t{state}\nRssShmem:\t 1048576 kB\n")


def test_what_the_script_prints_of_a_host_is_understood(docker: FakeDocker, tmp_path: Path) -> None:
    keep(KeepSpec(watched(1, "server"), (), SERVER))
    for pid, cgroup, state in ((7, ID, "D (disk sleep)"), (8, "ff", "R"), (9, ID, "Z (zombie)")):
        process(tmp_path, pid, cgroup, state)
    sizes = "MemTotal: 16 kB\nMemFree: 1 kB\nMemAvailable: 8 kB\nAnonPages: 4 kB\n"
    (tmp_path / "proc/meminfo").write_text(sizes)
    docker.listed["host-1"] = [HEAD]
    program(docker.folder / "bin/nvidia-smi", SMI)
    assert read_look(printed(tmp_path)) == Look(
        Figures(16 * KIB, 8 * KIB, 4 * KIB, 3 * GIB, 80400 * MIB, 1536 * MIB),
        (HEAD,),
        (Process(7, "D", SERVER, "VLLM::Worker TP0", GIB),),
    )


def test_without_a_gpu_none_is_told(docker: FakeDocker, tmp_path: Path) -> None:
    process(tmp_path, 7, "ff")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 3 kB\nMemAvailable: 2 kB\nAnonPages: 1 kB\n")
    figures = Figures(3 * KIB, 2 * KIB, KIB, GIB, None, 0)
    assert read_look(printed(tmp_path)) == Look(figures, (), ())
