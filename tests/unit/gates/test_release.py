"""When a host counts as free again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from tandem.errors import GateFailed
from tandem.gates import release
from tandem.gates.release import Figures, check, gpu_held, held, read_look, record
from tandem.gates.spec import ReleaseSpec
from tandem.ssh import UNREACHABLE, SshTarget
from tandem.units import GIB

SPEC = ReleaseSpec("test", "host-1", SshTarget("ops@host-1"), None, 10)
BEFORE = Figures(128 * GIB, 120 * GIB, 4 * GIB, 0, None, 0)
NO_TIME = replace(SPEC, timeout_seconds=0)


def look(*lines: str, available: int = 120 * GIB, anonymous: int = 4 * GIB, shared: int = 0) -> str:
    """Return what release.sh prints on a host like that of BEFORE."""
    memory = {"MemTotal": 128 * GIB, "MemAvailable": available, "AnonPages": anonymous}
    sizes = [f"{name} {size // 1024}" for name, size in (memory | {"RssShmem": shared}).items()]
    return "\n".join([*sizes, *lines, ""])


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return what sets the answers of the host, one for each look; the last one stays."""
    monkeypatch.setattr(release, "POLL_SECONDS", 0)

    def set_answers(*texts: str) -> list[str]:
        waiting = list(texts)

        def run(
            target: SshTarget, *command: str, stdin: str = "", timeout: float | None = None
        ) -> subprocess.CompletedProcess[str]:
            if command == ("true",):
                return subprocess.CompletedProcess(command, 0, "", "")
            assert command == ("sh", "-s", "--", "test")
            text = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            return subprocess.CompletedProcess(command, 0, text, "")

        monkeypatch.setattr(SshTarget, "run", run)
        return waiting

    return set_answers


def _before(figures: Figures = BEFORE) -> str:
    return json.dumps(asdict(figures))


def _failure(before: str = "") -> list[str]:
    with pytest.raises(GateFailed) as failed:
        check(NO_TIME, before or _before())
    return str(failed.value).splitlines()


def test_memory_is_noted_before_the_start(answers: Callable[..., list[str]]) -> None:
    answers(look())
    assert Figures(**record(SPEC)) == BEFORE


def test_what_was_noted_before_the_start_stays_when_the_bound_changes(
    answers: Callable[..., list[str]],
) -> None:
    answers(look(available=GIB))
    assert Figures(**record(SPEC, _before())) == BEFORE


def test_nothing_is_noted_while_the_deployment_is_there(
    answers: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    answers(look("container tandem-test-host-1-server"), look(available=GIB))
    assert record(SPEC) == {}
    assert check(SPEC, "{}") == {"seconds": 0}
    said = capsys.readouterr().err
    assert said == "host-1 is free after 0 s (its memory before the start is not known)\n"


def test_a_host_that_becomes_free_ends_the_wait(
    answers: Callable[..., list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    gone = "process 7 D tandem-test-host-1-server VLLM::Worker TP0"
    answers(look(gone, available=20 * GIB), look(available=20 * GIB), look())
    assert check(SPEC, _before()) == {"seconds": 0}
    assert capsys.readouterr().err.splitlines() == [
        "waiting until host-1 is free: process 7 (VLLM::Worker TP0, state D) of "
        "tandem-test-host-1-server is there",
        "host-1 is free after 0 s",
    ]


def test_a_container_that_is_left_is_named(answers: Callable[..., list[str]]) -> None:
    answers(look("container tandem-test-host-1-server"))
    assert _failure() == [
        "host-1 is not free 0 s after its containers were removed:",
        "host-1: container tandem-test-host-1-server is there",
        "remove it there with `docker rm --force`; then run the same command again",
    ]


def test_a_process_that_is_left_is_named_with_its_gpu_memory(
    answers: Callable[..., list[str]],
) -> None:
    answers(
        look(
            "process 7 D tandem-test-host-1-server VLLM::Worker",
            "gpu 70000",
            "gpu-process 7 69632",
            "gpu-process 8 [N/A]",
        )
    )
    _, process, way = _failure()
    assert process == (
        "host-1: process 7 (VLLM::Worker, state D) of tandem-test-host-1-server, with 68.00 GiB of "
        "GPU memory is there"
    )
    assert way.startswith("end it there with `kill -9`; in state D only a reboot of host-1 ends it")


def test_memory_that_is_not_back_is_told_with_both_figures_and_the_bound(
    answers: Callable[..., list[str]],
) -> None:
    answers(look(available=100 * GIB))
    _, memory, way = _failure()
    assert memory == (
        "host-1: 20.00 GiB of memory are held by no process: available 120.00 GiB before the "
        "start, 100.00 GiB now, bound 6.40 GiB"
    )
    assert way.startswith("look for files in memory there")


def test_a_declared_bound_counts(answers: Callable[..., list[str]]) -> None:
    answers(look(available=100 * GIB))
    assert check(replace(NO_TIME, memory_bytes=20 * GIB), _before()) == {"seconds": 0}
    with pytest.raises(GateFailed, match=r"bound 19\.00 GiB"):
        check(replace(NO_TIME, memory_bytes=19 * GIB), _before())


def test_gpu_memory_that_is_not_back_is_told(answers: Callable[..., list[str]]) -> None:
    answers(look("gpu 400", "gpu 81000", "gpu-process 9 1000"))
    apart = replace(BEFORE, gpu=800 * 1024**2, gpu_processes=0)
    assert _failure(_before(apart))[1] == (
        "host-1: 77.73 GiB of GPU memory are held by no process: in use 0.78 GiB before the "
        "start, 79.49 GiB now, bound 6.40 GiB"
    )


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        pytest.param({}, 0, id="all is back"),
        pytest.param({"available": 90}, 30, id="nothing explains it"),
        pytest.param({"available": 90, "anonymous": 34}, 0, id="another process took it"),
        pytest.param({"available": 90, "shared": 30}, 0, id="others share memory"),
        pytest.param({"available": 90, "gpu_processes": 30}, 0, id="another one on a unified GPU"),
        pytest.param(
            {"available": 122, "anonymous": 1}, 1, id="others went, and hide what is held"
        ),
    ],
)
def test_memory_is_held_where_no_process_explains_it(now: dict[str, int], expected: int) -> None:
    changed = {name: size * GIB for name, size in now.items()}
    assert held(BEFORE, replace(BEFORE, **changed)) == expected * GIB


def test_gpu_memory_counts_only_where_every_process_tells_its_own() -> None:
    before = replace(BEFORE, gpu=0, gpu_processes=0)
    assert gpu_held(before, replace(before, gpu=9 * GIB, gpu_processes=2 * GIB)) == 7 * GIB
    assert gpu_held(before, replace(before, gpu=9 * GIB, gpu_processes=None)) == 0
    assert gpu_held(BEFORE, replace(BEFORE, gpu_processes=9 * GIB)) == 0


def test_on_unified_memory_a_gpu_tells_no_memory_of_its_own() -> None:
    seen = read_look(look("gpu [N/A]", "gpu-process 7 1024", "gpu-process 8 1024"))
    assert seen is not None
    assert (seen.figures.gpu, seen.figures.gpu_processes) == (None, 2 * GIB)


def test_a_login_shell_that_runs_nothing_is_not_taken_for_a_host_that_is_free(
    answers: Callable[..., list[str]],
) -> None:
    answers("This account is currently not available.\n")
    assert _failure()[0] == (
        "host host-1 does not tell what is left of the deployment: "
        "it did not run the script that looks"
    )


def test_a_host_that_does_not_answer_is_told_with_the_ways_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(
        target: SshTarget, *command: str, stdin: str = "", timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, UNREACHABLE, "", "No route to host\n")

    monkeypatch.setattr(SshTarget, "run", run)
    first, way = _failure()
    assert first == "host host-1 does not tell what is left of the deployment: No route to host"
    assert way.startswith("bring it back and run the same command again, or let it go: ")
