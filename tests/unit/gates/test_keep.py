"""Logs that are kept: keep.sh itself, run here with a stand-in for docker."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tandem.errors import GateFailed
from tandem.gates.keep import keep, keeping_logs
from tandem.gates.spec import KeepSpec
from tandem.ssh import UNREACHABLE
from tandem.survey.logs import read_host_logs
from tests.builders import settings, watched
from tests.shell import host_here, program
from tests.unit.gates.docker import RUNNING

if TYPE_CHECKING:
    from tests.unit.gates.docker import FakeDocker

WORKER = "tandem-test-host-2-ray-worker"
HEAD = "tandem-test-host-1-ray-head"
SPEC = KeepSpec(watched(2), (HEAD,), "0123abcd")
DOCKER = """. "$0.answers"
case $1 in
inspect) printf '%s\\n' "$found"; printf '%s\\n' "$problem" >&2; exit "$status" ;;
logs) printf '%s\\n' "$*" >"$0.asked"; cat "$0.log"; echo its last words >&2 ;;
esac
"""


@dataclass
class Host:
    """One host that is this machine, with folders of its own."""

    bin: Path
    state: Path

    def says(self, *, found: str = "", problem: str = "", status: int = 0) -> None:
        text = f"found='{found}' problem='{problem}' status={status}\n"
        (self.bin / "docker.answers").write_text(text)

    def is_lost(self) -> None:
        words = "Warning: something else\nNo route to host"
        program(self.bin / "ssh", f"echo '{words}' >&2\nexit {UNREACHABLE}")

    @property
    def folder(self) -> Path:
        return self.state / "tandem" / "test" / WORKER

    @property
    def kept(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir()) if self.folder.exists() else []


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = Host(host_here(tmp_path, monkeypatch), tmp_path / "state")
    monkeypatch.setenv("XDG_STATE_HOME", str(made.state))
    program(made.bin / "docker", DOCKER)
    (made.bin / "docker.log").write_text("first words\n")
    made.says(found='test {"container":"it"}')
    return made


def test_the_end_of_the_log_is_kept_beside_how_the_container_ended(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keep(SPEC) == {"kept": WORKER}
    ended, log = host.kept
    assert ended.removesuffix(".json") == log.removesuffix(".log")
    assert json.loads((host.folder / ended).read_text()) == {"container": "it"}
    assert (host.folder / log).read_text() == "first words\nits last words\n"
    asked = (host.bin / "docker.asked").read_text()
    assert asked == "logs --timestamps --tail 2000 0123abcd\n"
    assert capsys.readouterr().err == f"kept the log of {WORKER} on host-2\n"


def test_what_is_kept_of_a_container_is_read_as_the_logs_of_its_host(docker: FakeDocker) -> None:
    ended = {"Status": "exited", "ExitCode": 137, "OOMKilled": True, "Error": "no device"}
    docker.states[WORKER] = ended | {"FinishedAt": "2026-11-30T12:30:00Z"}
    docker.restarts = lambda container, look: 3
    docker.logs[WORKER] = "".join(f"line {number}\n" for number in range(3000))
    assert keep(KeepSpec(watched(2), (), WORKER)) == {"kept": WORKER}
    (log,) = read_host_logs(settings(2).hosts[1], "test", "kept", None).logs
    assert (log.host, log.container, log.role) == ("host-2", WORKER, "worker")
    assert [line.text for line in log.lines] == [f"line {number}" for number in range(1000, 3000)]
    assert all(line.time for line in log.lines)
    assert log.record is not None and log.record.kept is not None
    assert log.record.model_dump() == {
        "role": "worker",
        "reason": "removed",
        "kept": log.record.kept,
        "status": "exited",
        "started_at": RUNNING["StartedAt"],
        "finished_at": "2026-11-30T12:30:00Z",
        "exit_code": 137,
        "oom_killed": True,
        "restarts": 3,
        "error": "no device",
    }


def test_nobody_else_on_the_host_reads_it(host: Host) -> None:
    keep(SPEC)
    assert host.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in host.folder.iterdir()} == {0o600}


def test_the_ten_newest_stay(host: Host) -> None:
    host.folder.mkdir(parents=True)
    old = [f"202601{day:02}T000000Z" for day in range(1, 13)]
    for stamp in old:
        (host.folder / f"{stamp}.json").touch()
        (host.folder / f"{stamp}.log").touch()
    keep(SPEC)
    stamps = sorted({name.partition(".")[0] for name in host.kept})
    assert stamps[:-1] == old[-9:]
    assert len(host.kept) == 20


def test_of_a_long_log_the_last_megabyte_is_kept(host: Host) -> None:
    (host.bin / "docker.log").write_text("x" * 2 * 1024**2)
    keep(SPEC)
    text = (host.folder / host.kept[1]).read_text()
    assert len(text) == 1024**2
    assert text.endswith("xits last words\n")


def test_a_log_that_hangs_is_kept_as_far_as_it_came(host: Host) -> None:
    # The 20 seconds are over at once.
    late = 'shift\n"$@"\n[ "$2" != logs ] && [ "$1 $2" != "docker logs" ] || exit 124'
    program(host.bin / "timeout", late)
    assert keep(SPEC) == {"kept": WORKER}
    lines = (host.folder / host.kept[1]).read_text().splitlines()
    assert lines[-1] == "(docker logs said nothing more for 20 s)"
    assert "first words" in lines


def test_a_container_that_is_gone_has_no_log_and_stops_nothing(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    host.says(problem="Error: No such container: 0123abcd", status=1)
    assert keep(SPEC) == {"kept": None}
    assert host.kept == []
    said = capsys.readouterr().err
    assert said == f"{WORKER} is not on host-2 any more: no log to keep\n"


def test_a_container_of_somebody_else_under_the_name_is_left_alone(host: Host) -> None:
    host.says(found=' {"container":"theirs"}')
    assert keep(SPEC) == {"kept": None}
    assert not (host.state / "tandem").exists()


def test_a_disk_that_is_full_does_not_keep_a_container_alive(
    host: Host, capsys: pytest.CaptureFixture[str]
) -> None:
    host.state.write_text("no folder")
    assert keep(SPEC) == {"kept": None}
    said = capsys.readouterr().err
    assert said.startswith(f"warning: the log of {WORKER} can't be kept on host-2: ")


@pytest.mark.parametrize("tool", ["tail", "mv"])
def test_a_disk_that_fills_meanwhile_does_not_keep_a_container_alive(
    host: Host, tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program(host.bin / tool, "cat >/dev/null; echo No space left on device >&2; exit 1")
    assert keep(SPEC) == {"kept": None}
    said = capsys.readouterr().err
    assert said.startswith(f"warning: the log of {WORKER} can't be kept on host-2: ")


def test_a_login_shell_that_runs_nothing_is_not_taken_for_a_container_that_is_gone(
    host: Host,
) -> None:
    program(host.bin / "ssh", "echo This account is currently not available.")
    with pytest.raises(GateFailed, match="host-2 can't tell of its containers: it did not run"):
        keep(SPEC)


def test_a_host_that_does_not_answer_is_told_with_what_stays_and_the_ways_on(host: Host) -> None:
    host.is_lost()
    with pytest.raises(GateFailed) as failed:
        keep(SPEC)
    assert str(failed.value).splitlines() == [
        "host host-2 does not answer: No route to host",
        f"not confirmed as removed, and kept in the state: {WORKER} on host-2",
        f"it goes before these, which stay, too: {HEAD}",
        "when host-2 boots, Docker starts again what ran there",
        "bring host-2 back and run the same command again, or let it go: set `retired: true` for "
        "it in the stack file and run `pulumi destroy --run-program`",
    ]


def test_docker_that_does_not_tell_ends_it_in_dockers_words(host: Host) -> None:
    host.says(problem="Cannot connect to the Docker daemon", status=1)
    with pytest.raises(GateFailed, match="host-2 can't tell of its containers: Cannot connect"):
        keep(SPEC)


def test_a_gate_that_gives_up_keeps_the_logs_and_says_how_to_read_them(host: Host) -> None:
    def give_up() -> object:
        raise GateFailed("not joined")

    with pytest.raises(GateFailed) as failed:
        keeping_logs("join", [watched(2)], give_up)
    assert str(failed.value).splitlines() == [
        "not joined",
        "logs are kept: `python -m tandem logs test --previous`",
    ]
    assert len(host.kept) == 2


def test_a_gate_that_gives_up_says_what_could_not_be_kept(host: Host) -> None:
    def give_up() -> object:
        raise GateFailed("not joined")

    host.is_lost()
    with pytest.raises(GateFailed, match=f"the log of {WORKER} is not kept: No route to host$"):
        keeping_logs("join", [watched(2)], give_up)


def test_a_gate_that_is_through_keeps_nothing(host: Host) -> None:
    assert keeping_logs("join", [watched(2)], lambda: "joined") == "joined"
    assert host.kept == []


@pytest.mark.parametrize("script", ["causes.sh", "keep.sh", "release.sh"])
def test_the_scripts_are_posix_sh(script: str) -> None:
    path = Path(__file__).parents[3] / "tandem" / "gates" / script
    shell = shutil.which("dash") or "sh"
    done = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
