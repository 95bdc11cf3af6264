"""The command line of ``vllm serve``: each key is on it, and ``serve.args`` can't set it again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tandem.planner.arguments import ARGUMENTS, RESERVED, serve_arguments
from tandem.planner.rules.reserved import flags
from tandem.planner.vllm.releases import known_names
from tandem.remote.supervise import FOLDER
from tandem.settings import ServeSettings
from tests.builders import settings

GIVEN: dict[str, tuple[Any, str, str]] = {
    "model.servedName": ("a-name", "--served-model-name", "a-name"),
    "serve.listen": ("0.0.0.0", "--host", "0.0.0.0"),
    "serve.port": (9000, "--port", "9000"),
    "serve.tensorParallel": (8, "--tensor-parallel-size", "8"),
    "serve.pipelineParallel": (3, "--pipeline-parallel-size", "3"),
    "serve.maxModelLen": (4096, "--max-model-len", "4096"),
    "serve.maxNumSeqs": (16, "--max-num-seqs", "16"),
    "serve.maxNumBatchedTokens": (2048, "--max-num-batched-tokens", "2048"),
    "serve.gpuMemoryUtilization": (0.85, "--gpu-memory-utilization", "0.85"),
    "serve.kvCacheDtype": ("fp8", "--kv-cache-dtype", "fp8"),
    "serve.kvCacheMemory": ("1GiB", "--kv-cache-memory-bytes", "1073741824"),
}
"""By key: what the stack file says, and the flag and the word that vLLM gets for it."""

HAVE_NO_FLAG = {"serve.args", "serve.env", "serve.readyTimeout", "serve.stallTimeout"}
"""Keys of ``serve`` that vLLM is not given as an argument."""

QUIET = "--disable-access-log-for-endpoints"
WATCHDOG = "--watchdog-config"


def values(hosts: int = 1, changes: dict[str, Any] | None = None) -> dict[str, str]:
    """Return the command line's values by flag; the model's folder comes first, without one."""
    first, *words = serve_arguments(settings(hosts, changes))
    assert first == "/model"
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("key", GIVEN)
def test_a_key_reaches_vllm_as_its_flag_alone(key: str) -> None:
    value, flag, word = GIVEN[key]
    before, after = values(2), values(2, {key: value})
    assert after == {**before, flag: word}
    assert before.get(flag) != word


def test_what_is_not_declared_is_left_to_vllm() -> None:
    assert values() == {
        "--served-model-name": "org/model",
        "--host": "10.0.0.1",
        "--port": "8000",
        "--tensor-parallel-size": "1",
        "--pipeline-parallel-size": "1",
    }


@pytest.mark.parametrize(
    ("hosts", "tensor_parallel", "backend"), [(1, 1, None), (1, 4, "mp"), (2, 2, "ray")]
)
def test_ranks_run_in_ray_only_on_several_hosts(
    hosts: int, tensor_parallel: int, backend: str | None
) -> None:
    found = values(hosts, {"serve.tensorParallel": tensor_parallel})
    assert found.get("--distributed-executor-backend") == backend


@pytest.mark.parametrize(
    ("version", "endpoints"), [("0.15.1", None), ("0.16.0", "/health,/metrics")]
)
def test_looks_at_the_servers_health_are_not_logged_where_vllm_can_leave_them_out(
    version: str, endpoints: str | None
) -> None:
    assert values(1, {"image.vllm": version}).get(QUIET) == endpoints


@pytest.mark.parametrize(
    ("version", "entrypoint", "folder"),
    [
        ("0.32.0", "vllm", None),
        ("0.33.0", "vllm", '{"dump_dir": "/var/lib/tandem"}'),
        ("0.33.0", "image", None),
    ],
)
def test_the_stacks_of_what_stands_still_are_written_where_vllm_can(
    version: str, entrypoint: str, folder: str | None
) -> None:
    changes = {"image.vllm": version, "image.entrypoint": entrypoint}
    assert values(1, changes).get(WATCHDOG) == folder
    assert folder is None or json.loads(folder)["dump_dir"] == str(FOLDER)


def test_every_flag_of_the_table_is_tested_here() -> None:
    assert {argument.flag for argument in ARGUMENTS} == {
        *(flag for _, flag, _ in GIVEN.values()),
        "--model",
        "--distributed-executor-backend",
        QUIET,
        WATCHDOG,
    }


def test_every_key_of_serve_has_a_flag_or_is_known_to_have_none() -> None:
    keys = {f"serve.{field.alias}" for field in ServeSettings.model_fields.values()}
    assert keys == {key for key in GIVEN if key.startswith("serve.")} | HAVE_NO_FLAG


def test_every_flag_and_short_name_is_one_of_vllms() -> None:
    *_, newest = known_names().values()
    names = {name for one in ARGUMENTS for name in (one.flag, one.short) if name is not None}
    assert names - newest.flags == set()


@pytest.mark.parametrize("flag", RESERVED)
def test_a_flag_that_a_key_decides_is_refused_in_serve_args(flag: str) -> None:
    (finding,) = flags(settings(1, {"serve.args": [flag, "1"]}))
    assert (finding.code, finding.path) == ("reserved-argument", "tandem:serve.args[0]")
    assert finding.message == f"{flag} is decided by {RESERVED[flag]}"


def test_what_keys_decide_is_reserved_under_its_short_name_too() -> None:
    expected = {flag: key for key, (_, flag, _) in GIVEN.items()}
    expected |= {"--model": "model.source", "--distributed-executor-backend": "tandem:backend"}
    expected |= {"-tp": "serve.tensorParallel", "-pp": "serve.pipelineParallel"}
    assert expected == RESERVED
