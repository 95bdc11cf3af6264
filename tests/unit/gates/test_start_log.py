"""What a start logged, in the words of several versions of vLLM."""

from __future__ import annotations

import pytest

from tandem.gates.start_log import read_start_log

GIB = 1024**3

V0_11 = """\
(EngineCore_DP0 pid=4) (Worker_TP0 pid=8) INFO 10-25 [gpu_model_runner.py:3339] Model loading took \
14.9888 GiB memory and 3.2 seconds
(Worker_TP0 pid=8) INFO 10-25 [gpu_worker.py:360] Available KV cache memory: 4.99 GiB
(EngineCore_DP0 pid=4) INFO [kv_cache_utils.py:1229] GPU KV cache size: 302,921 tokens
(EngineCore_DP0 pid=4) INFO [kv_cache_utils.py:1234] Maximum concurrency for 131,072 tokens per \
request: 2.31x
(Worker_TP0 pid=8) INFO [gpu_model_runner.py:4000] Graph capturing finished in 5 secs, took 0.45 GiB
"""

V0_32_TWO_RANKS = """\
(RayWorkerProc pid=187) (Worker pid=187) INFO [gpu_model_runner.py:5150] Model loading took 58.03 \
GiB memory and 61.0 seconds
(RayWorkerProc pid=98, ip=10.0.0.2) (Worker pid=98) INFO [gpu_model_runner.py:5150] Model loading \
took 58.1 GiB memory and 61.0 seconds
(RayWorkerProc pid=187) (Worker pid=9) INFO [gpu_worker.py:760] Available KV cache memory: 31.2 GiB
(RayWorkerProc pid=98) (Worker pid=98) INFO [gpu_worker.py:760] Available KV cache memory: 30.9 GiB
(EngineCore pid=9) INFO [kv_cache_utils.py:2327] GPU KV cache size: 2,711,040 tokens, Maximum \
concurrency for 262,144 tokens per request: 10.34x
"""

CPU = """\
(Worker pid=98) INFO [cpu_worker.py:260] Explicitly set (1.0/23.4) GiB for KV cache on node 0.
(EngineCore pid=9) INFO [kv_cache_utils.py:2327] CPU KV cache size: 2,097,152 tokens, Maximum \
concurrency for 512 tokens per request: 4096.00x
"""


@pytest.mark.parametrize(
    ("log", "found"),
    [
        (
            V0_11,
            {
                "weightsBytes": round(14.9888 * GIB),
                "kvBudgetBytes": round(4.99 * GIB),
                "graphsBytes": round(0.45 * GIB),
                "kvTokens": 302921,
                "maxConcurrency": 2.31,
            },
        ),
        (
            V0_32_TWO_RANKS,
            {
                "weightsBytes": round(58.1 * GIB),
                "kvBudgetBytes": round(30.9 * GIB),
                "kvTokens": 2711040,
                "maxConcurrency": 10.34,
            },
        ),
        (CPU, {"kvSetBytes": GIB, "kvTokens": 2097152, "maxConcurrency": 4096.0}),
        ("vLLM API server version 0.99\n", {}),
    ],
)
def test_the_rank_with_most_weights_and_the_one_with_least_room_are_told(
    log: str, found: dict[str, float]
) -> None:
    assert read_start_log(log) == found
