"""The memory of the hosts, from what the survey found."""

from typing import Any

import pytest

from tandem.planner.memory.hosts import HostMemory
from tandem.planner.memory.surveyed import host_memory
from tandem.survey.docker import ContainerFacts, DockerFacts
from tandem.survey.facts import Facts
from tandem.survey.gpus import GpuProcess
from tandem.survey.machine import MemoryFacts
from tandem.units import GIB
from tests.builders import facts, gpu, settings

SERVING = {"containers": (ContainerFacts(id="1" * 64, name="s", stack="test", state="running"),)}
MEMORY = {"memory": MemoryFacts(total=120 * GIB, available=110 * GIB)}
NO_GPU = {"gpus": (), "docker": DockerFacts(version="29.1.3", gpu_ways=("hook",))}


def spark(*processes: GpuProcess) -> dict[str, Any]:
    """Return facts of unified memory, where nvidia-smi says [N/A]."""
    found = gpu(
        name="NVIDIA GB10",
        memory_total=None,
        memory_used=None,
        memory_free=None,
        compute_capability="12.1",
        processes=processes,
    )
    return {"gpus": (found,), **MEMORY}


def own(used: int | None) -> GpuProcess:
    """Return a process of the deployment."""
    return GpuProcess(pid=1, name="VLLM::Worker", used=used, is_own=True)


def memory(first: dict[str, Any], changes: dict[str, Any] | None = None) -> HostMemory | None:
    """Return the memory of a single host."""
    declared = settings(1, changes)
    return host_memory(declared, facts(declared, first)).get("host-1")


def test_cuda_does_not_count_what_the_driver_keeps() -> None:
    found = gpu(memory_total=80 * GIB, memory_reserved=GIB, memory_free=78 * GIB)
    assert memory({"gpus": (found,)}) == HostMemory(
        total=79 * GIB, free=78 * GIB, device="NVIDIA H100 80GB HBM3"
    )


def test_the_smallest_gpu_counts_of_those_that_are_declared() -> None:
    sizes = (79, 40, 20)
    gpus = tuple(gpu(n, memory_total=size * GIB) for n, size in enumerate(sizes))
    two, last = memory({"gpus": gpus}, {"hosts.0.gpus": 2}), {"hosts.0.gpus": ["2"]}
    assert two is not None and two.total == 40 * GIB
    by_id = memory({"gpus": gpus}, last)
    assert by_id is not None and by_id.total == 20 * GIB


def test_unified_memory_is_the_hosts() -> None:
    assert memory(spark()) == HostMemory(
        total=120 * GIB, free=110 * GIB, unified=True, device="NVIDIA GB10"
    )


def test_hosts_of_one_kind_have_the_same_memory_whatever_the_kernel_keeps() -> None:
    sizes = (125513928 * 1024, 125513912 * 1024)
    found = [memory({**spark(), "memory": MemoryFacts(total=n, available=n)}) for n in sizes]
    assert found[0] is not None and found[1] is not None
    assert found[0].total == found[1].total


def test_what_the_deployment_holds_itself_counts_as_free() -> None:
    unified = memory({**spark(own(70 * GIB)), **SERVING})
    assert unified is not None and unified.free == 180 * GIB
    busy = gpu(memory_used=70 * GIB, memory_free=9 * GIB, processes=(own(60 * GIB),))
    apart = memory({"gpus": (busy,), **SERVING})
    assert apart is not None and apart.free == 69 * GIB


@pytest.mark.parametrize("processes", [(), (own(None),)])
def test_what_a_running_deployment_holds_is_not_guessed(processes: tuple[GpuProcess, ...]) -> None:
    found = memory({**spark(*processes), **SERVING})
    assert found is not None and found.free is None


def test_a_host_without_gpus_is_one_for_vllm_on_cpus() -> None:
    assert memory({**NO_GPU, **MEMORY}) == HostMemory(total=120 * GIB, free=110 * GIB, device="cpu")


@pytest.mark.parametrize(
    "first",
    [
        {**NO_GPU, **MEMORY, "gpu_problem": "Driver/library version mismatch"},
        {**NO_GPU, **MEMORY, "docker": DockerFacts(version="29.1.3", gpu_ways=("runtime",))},
        NO_GPU,
        {"gpus": (gpu(1),)},
    ],
)
def test_gpus_that_were_not_seen_have_no_memory(first: dict[str, Any]) -> None:
    assert memory(first, {"hosts.0.gpus": ["0"]}) is None


def test_what_is_declared_counts_and_what_is_free_is_found() -> None:
    changes = {"hosts.0.memory": {"total": "119.7GiB"}}
    found = memory(spark(), changes)
    assert found is not None
    assert found.total == round(119.7 * GIB)
    assert (found.free, found.unified, found.device) == (110 * GIB, True, "NVIDIA GB10")


def test_without_a_look_only_what_is_declared_is_known() -> None:
    assert host_memory(settings(1), Facts()) == {}
