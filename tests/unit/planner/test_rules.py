"""What the declaration alone can get wrong."""

from typing import Any

import pytest

from tandem.findings import Severity
from tandem.planner.rules import check
from tests.builders import settings

IMAGE = {"image.entrypoint": "image"}

CASES: list[tuple[str, int, dict[str, Any], list[tuple[str, str]]]] = [
    ("one host is fine", 1, {}, []),
    ("two hosts are fine", 2, {}, []),
    ("two equal names", 2, {"hosts.1.name": "host-1"}, [("name-twice", "hosts[1].name")]),
    (
        "two equal addresses",
        2,
        {"hosts.1.address": "10.0.0.1"},
        [("address-twice", "hosts[1].address")],
    ),
    (
        "loopback with several hosts",
        2,
        {"hosts.0.address": "127.0.0.1"},
        [("address-not-reachable", "hosts[0].address")],
    ),
    ("loopback with one host is fine", 1, {"hosts.0.address": "127.0.0.1"}, []),
    (
        "0.0.0.0 as the address of one host",
        1,
        {"hosts.0.address": "0.0.0.0"},
        [("address-not-reachable", "hosts[0].address")],
    ),
    (
        "more ranks than GPUs",
        2,
        {"serve.pipelineParallel": 2},
        [("gpus-too-few", "serve.tensorParallel")],
    ),
    ("fewer ranks than GPUs", 2, {"hosts.0.gpus": 4}, [("gpus-idle", "serve.tensorParallel")]),
    ("the port of Ray's head", 2, {"serve.port": 6379}, [("port-twice", "serve.port")]),
    (
        "the first port of Ray's workers",
        2,
        {"serve.port": 10002},
        [
            ("port-of-ray-workers", "serve.port"),
        ],
    ),
    (
        "the last port of Ray's workers",
        2,
        {"serve.port": 19999},
        [
            ("port-of-ray-workers", "serve.port"),
        ],
    ),
    ("the port after Ray's workers is fine", 2, {"serve.port": 20000}, []),
    ("without Ray its ports are free", 1, {"serve.port": 6379}, []),
    (
        "VLLM_PORT",
        1,
        {"serve.env": {"VLLM_PORT": "1"}},
        [
            ("reserved-variable", "serve.env.VLLM_PORT"),
        ],
    ),
    (
        "VLLM_HOST_IP of a host",
        2,
        {"hosts.1.env": {"VLLM_HOST_IP": "x"}},
        [
            ("reserved-variable", "hosts[1].env.VLLM_HOST_IP"),
        ],
    ),
    (
        "the interface as a variable",
        1,
        {"hosts.0.env": {"GLOO_SOCKET_IFNAME": "x"}},
        [
            ("reserved-variable", "hosts[0].env.GLOO_SOCKET_IFNAME"),
        ],
    ),
    (
        "a variable that the image's entrypoint reads",
        1,
        {
            **IMAGE,
            "serve.env": {"VLLM_MAX_MODEL_LEN": "1"},
        },
        [("reserved-variable", "serve.env.VLLM_MAX_MODEL_LEN")],
    ),
    (
        "the same variable without that entrypoint is fine",
        1,
        {
            "serve.env": {"VLLM_MAX_MODEL_LEN": "1"},
        },
        [],
    ),
    ("a host's NCCL variable is fine", 1, {"hosts.0.env": {"NCCL_IB_HCA": "mlx5_0"}}, []),
    (
        "a token in a variable",
        1,
        {"serve.env": {"HF_TOKEN": "x"}},
        [
            ("secret-in-env", "serve.env.HF_TOKEN"),
        ],
    ),
    (
        "an API key of a host in lower case",
        1,
        {"hosts.0.env": {"vllm_api_key": "x"}},
        [
            ("secret-in-env", "hosts[0].env.vllm_api_key"),
        ],
    ),
    (
        "a reserved flag",
        1,
        {"serve.args": ["--port", "1"]},
        [
            ("reserved-argument", "serve.args[0]"),
        ],
    ),
    (
        "a reserved flag with its value",
        1,
        {"serve.args": ["--seed=1", "--max-model-len=9"]},
        [
            ("reserved-argument", "serve.args[1]"),
        ],
    ),
    (
        "a reserved flag with underscores",
        1,
        {"serve.args": ["--tensor_parallel_size=9"]},
        [
            ("reserved-argument", "serve.args[0]"),
        ],
    ),
    (
        "a reserved short flag",
        1,
        {"serve.args": ["-tp", "9"]},
        [
            ("reserved-argument", "serve.args[0]"),
        ],
    ),
    (
        "an API key as a flag",
        1,
        {"serve.args": ["--api-key=x"]},
        [
            ("secret-in-args", "serve.args[0]"),
        ],
    ),
    (
        "an API key as a flag with underscores",
        1,
        {"serve.args": ["--api_key", "x"]},
        [
            ("secret-in-args", "serve.args[0]"),
        ],
    ),
    ("other flags are fine", 1, {"serve.args": ["--reasoning-parser=qwen3", "--seed", "1"]}, []),
]


@pytest.mark.parametrize(
    ("hosts", "changes", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_rule(hosts: int, changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    found = [(f.code, f.path.removeprefix("tandem:")) for f in check(settings(hosts, changes))]
    assert found == expected


def test_too_few_gpus_are_told_with_the_numbers() -> None:
    (finding,) = check(settings(2, {"serve.tensorParallel": 4}))
    assert str(finding) == (
        "tandem:serve.tensorParallel: tensorParallel 4 x pipelineParallel 1 needs 4 GPUs, the "
        "hosts declare 2; make the product 2 or declare more GPUs [gpus-too-few]"
    )


def test_idle_gpus_are_a_warning_only() -> None:
    (finding,) = check(settings(2, {"serve.tensorParallel": 1}))
    assert finding.severity is Severity.WARNING
    assert "uses 1 of 2 declared GPUs" in finding.message


def test_the_reserved_flag_names_the_key_to_use() -> None:
    (finding,) = check(settings(1, {"serve.args": ["--served-model-name=x"]}))
    assert "is decided by model.servedName" in finding.message


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"hosts.0.gpus": ["0", "0"]}, "gpu-twice"),
        ({"serve.env": {"API_KEY": "x"}}, "secret-in-env"),
        ({"ray.port": 10005}, "port-of-ray-workers"),
    ],
)
def test_what_was_once_let_through_is_refused(changes: dict[str, Any], code: str) -> None:
    assert code in {finding.code for finding in check(settings(2, changes))}


def test_the_images_own_entrypoint_can_not_be_given_the_api_key() -> None:
    found = check(settings(1, {"apiKey": "sesame", "image.entrypoint": "image"}))
    assert [finding.code for finding in found] == ["api-key-not-passed"]
    assert [f.code for f in check(settings(1, {"apiKey": "sesame"}))] == []
