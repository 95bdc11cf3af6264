"""Which modules a checkpoint leaves as they were."""

from __future__ import annotations

import pytest

from tandem.planner.model.config_keys import ConfigKeys
from tandem.planner.model.quantization import Quantization, read_quantization


def quantization(**keys: object) -> Quantization:
    read = read_quantization(ConfigKeys({"quantization_config": keys}))
    assert read is not None
    return read


@pytest.mark.parametrize(
    ("pattern", "module", "is_left_out"),
    [
        ("lm_head", "lm_head", True),
        ("gate", "layers.3.mlp.gate", True),
        ("gate", "layers.3.mlp.gate_proj", False),
        ("model.layers.3.mlp.gate", "layers.3.mlp.gate", True),
        ("model.layers.3.mlp.gate", "layers.30.mlp.gate", False),
        ("model.layers.*.self_attn", "layers.7.self_attn.q_proj", True),
        ("model.language_model.layers.0.linear_attn*", "layers.0.linear_attn.out_proj", True),
        ("mtp*", "mtp.layers.0.mlp.up_proj", True),
        ("re:.*shared_expert.*", "layers.0.mlp.shared_expert.up_proj", True),
        ("re:(", "layers.0", False),
    ],
)
def test_patterns(pattern: str, module: str, is_left_out: bool) -> None:
    assert quantization(quant_method="fp8", ignore=[pattern]).leaves_out(module) is is_left_out


def test_no_pattern_leaves_nothing_out() -> None:
    assert not quantization(quant_method="fp8").leaves_out("lm_head")


@pytest.mark.parametrize(
    ("keys", "bits"),
    [
        ({"quant_method": "fp8"}, 8),
        ({"quant_method": "mxfp4"}, 4),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 4),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, None),
        ({"quant_method": "gptq", "bits": 8}, 8),
        ({"quant_method": "new_one"}, None),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 32}}},
            },
            4,
        ),
    ],
)
def test_bits_of_a_weight(keys: dict[str, object], bits: int | None) -> None:
    assert quantization(**keys).bits == bits


def test_no_quantization_is_none() -> None:
    assert read_quantization(ConfigKeys({})) is None
