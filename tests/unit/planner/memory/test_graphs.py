"""CUDA graphs: batch sizes that are captured, and what they take."""

import pytest

from tandem.planner.memory.graphs import captured_sizes, graphs
from tandem.planner.memory.hosts import HostMemory
from tandem.planner.vllm.engine import EngineOptions, engine_options
from tandem.units import GIB, MIB
from tests.builders import settings
from tests.models import architecture

MTP = '--speculative-config={"method":"mtp","num_speculative_tokens":3}'
H100 = HostMemory(total=79 * GIB, device="NVIDIA H100 80GB HBM3")
B200 = HostMemory(total=180 * GIB, device="NVIDIA B200")


def options(requests: int, version: str = "0.32.0", draft: bool = False) -> EngineOptions:
    """Return the options of a start with so many requests at once."""
    said = {"image.vllm": version, "serve.maxNumSeqs": requests, "serve.args": [MTP] * draft}
    return engine_options(settings(1, said), architecture("Qwen3.5-27B"), [H100])


@pytest.mark.parametrize(
    ("requests", "draft", "sizes"),
    [
        (1, False, 2),  # 1, 2
        (4, False, 4),  # 1, 2, 4, 8
        (32, False, 11),  # 1, 2, 4, 8, 16 … 64
        (8, True, 11),
        (128, False, 35),  # … 248, 256
        (1024, False, 51),  # … 256, 272 … 512
    ],
)
def test_sizes_go_up_to_twice_the_tokens_of_a_step(requests: int, draft: bool, sizes: int) -> None:
    assert captured_sizes(options(requests, draft=draft), H100) == sizes


@pytest.mark.parametrize(("version", "sizes"), [("0.27.1", 51), ("0.28.0", 83)])
def test_blackwell_for_data_centres_captures_larger_batches(version: str, sizes: int) -> None:
    assert captured_sizes(options(1024, version), B200) == sizes


def test_the_most_goes_with_the_sizes_and_is_never_below_the_least() -> None:
    assert graphs(64, options(1024), H100)[:2] == (64 * 7 * MIB, 64 * 85 * MIB)
    least, most, _ = graphs(64, options(32), H100)
    assert (least, most) == (64 * 7 * MIB, 64 * 85 * MIB * 11 / 51)
    assert graphs(64, options(1), H100)[:2] == (64 * 7 * MIB, 64 * 7 * MIB)


def test_on_unified_memory_there_may_be_none() -> None:
    shared = HostMemory(total=120 * GIB, unified=True, device="NVIDIA GB10")
    assert graphs(62, options(1024), shared)[:2] == (0, 62 * 85 * MIB)
