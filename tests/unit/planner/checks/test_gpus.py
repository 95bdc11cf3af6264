"""GPUs that are missing, busy, or that Docker can't hand out."""

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.survey.docker import DockerFacts
from tandem.survey.gpus import GpuProcess
from tandem.units import GIB, MIB
from tests.builders import findings, gpu


def busy(used: int | None, *, is_own: bool = False, index: int = 0) -> dict[str, Any]:
    """Return facts with one process on a GPU of two."""
    process = GpuProcess(pid=4711, name="python3", used=used, is_own=is_own)
    gpus = [gpu(0), gpu(1)]
    gpus[index] = gpu(index, processes=(process,))
    return {"gpus": tuple(gpus)}


def test_docker_without_runtime_hook_and_cdi_can_hand_out_no_gpus() -> None:
    (finding,) = findings(1, {"docker": DockerFacts(version="29.1.3", gpu_ways=())})
    assert (finding.code, finding.severity) == ("gpus-not-offered", Severity.ERROR)


def test_docker_that_did_not_tell_is_not_blamed() -> None:
    assert findings(1, {"docker": DockerFacts(version="29.1.3", gpu_ways=None)}) == []


@pytest.mark.parametrize("way", ["runtime", "hook", "CDI"])
def test_each_way_is_enough(way: str) -> None:
    assert findings(1, {"docker": DockerFacts(version="29.1.3", gpu_ways=(way,))}) == []


def test_what_nvidia_smi_says_instead_of_gpus_is_told() -> None:
    said = "Failed to initialize NVML: Driver/library version mismatch"
    (finding,) = findings(1, {"gpus": (), "gpu_problem": said})
    assert finding.code == "gpu-driver"
    assert said in finding.message


def test_a_host_without_nvidia_smi_gives_nothing_to_say() -> None:
    assert findings(1, {"gpus": ()}) == []


@pytest.mark.parametrize(
    ("declared", "missing"),
    [
        (2, "2 GPUs declared, but host-1 has 1: 0 (NVIDIA H100 80GB HBM3)"),
        (["0", "3"], "3 declared, but host-1 has 1"),
        (["GPU-9"], "GPU-9 declared, but host-1 has 1"),
    ],
)
def test_gpus_that_are_not_there_are_refused(declared: object, missing: str) -> None:
    first = {"gpus": (gpu(0),)}
    (finding,) = findings(1, first, changes={"hosts.0.gpus": declared})
    assert (finding.code, finding.severity) == ("gpus-missing", Severity.ERROR)
    assert missing in finding.message


@pytest.mark.parametrize("declared", [1, ["0"], ["GPU-0"], ["MIG-1"]])
def test_gpus_that_are_there_are_fine(declared: object) -> None:
    assert findings(1, changes={"hosts.0.gpus": declared}) == []


def test_a_foreign_process_is_told_with_its_pid_name_and_size() -> None:
    (finding,) = findings(1, busy(3 * GIB))
    assert (finding.code, finding.severity) == ("gpu-busy", Severity.WARNING)
    assert "python3, pid 4711, holds 3.00 GiB of GPU 0 of host-1" in finding.message


def test_a_process_of_unknown_size_is_told_too() -> None:
    (finding,) = findings(1, busy(None))
    assert "holds memory of GPU 0" in finding.message


def test_own_processes_small_ones_and_those_on_other_gpus_are_fine() -> None:
    assert findings(1, busy(3 * GIB, is_own=True)) == []
    assert findings(1, busy(100 * MIB)) == []
    assert findings(1, busy(3 * GIB, index=1)) == []
