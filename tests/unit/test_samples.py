"""Every stack file in stacks/ can be read, and its declaration has no errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tandem.findings import Severity
from tandem.planner.layout import layout
from tandem.planner.memory.fit import fit
from tandem.planner.memory.hosts import HostMemory
from tandem.planner.memory.result import Verdict
from tandem.planner.rules import check
from tandem.settings import Settings, load_settings
from tandem.units import GIB
from tests.models import FP8, architecture

STACKS = Path(__file__).parents[2] / "stacks"
SAMPLES = sorted(STACKS.glob("Pulumi.*.yaml"))
SHIPPED = ("lab", "lab-single", "quad", "spark-pair")


def _settings(path: Path) -> Settings:
    """Read the stack file as Pulumi hands it over: text as it is, anything else as JSON."""
    config: dict[str, Any] = yaml.safe_load(path.read_text())["config"]
    return load_settings(
        {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in config.items()
        }
    )


def test_samples_are_there() -> None:
    names = {path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in SAMPLES}
    assert set(SHIPPED) <= names


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_sample_has_no_errors(path: Path) -> None:
    errors = [finding for finding in check(_settings(path)) if finding.severity is Severity.ERROR]
    assert errors == []


@pytest.mark.parametrize("name", SHIPPED)
def test_sample_tells_editors_its_schema(name: str) -> None:
    path = STACKS / f"Pulumi.{name}.yaml"
    mark, _, schema = path.read_text().partition("\n")[0].partition("$schema=")
    assert mark == "# yaml-language-server: "
    assert (STACKS / schema).resolve() == STACKS.parent / "docs" / "stack.schema.json"


@pytest.mark.parametrize("name", SHIPPED)
def test_sample_uses_every_declared_gpu(name: str) -> None:
    settings = _settings(STACKS / f"Pulumi.{name}.yaml")
    assert settings.world_size == sum(host.gpu_count for host in settings.hosts)


@pytest.mark.parametrize("word", ["on", "off", '"on"', '"off"', "true", "false"])
def test_switch_is_read_with_and_without_quotes(tmp_path: Path, word: str) -> None:
    text = (STACKS / "Pulumi.spark-pair.yaml").read_text()
    path = tmp_path / "Pulumi.copy.yaml"
    path.write_text(f"{text}  tandem:survey: {word}\n")
    assert _settings(path).survey is (word.strip('"') in {"on", "true"})


def test_spark_pair_serves_what_its_recipe_says() -> None:
    settings = _settings(STACKS / "Pulumi.spark-pair.yaml")
    serve = settings.serve
    assert settings.model.id == "Qwen/Qwen3.5-122B-A10B-FP8"
    assert (serve.tensor_parallel, serve.pipeline_parallel) == (2, 1)
    assert (serve.max_model_len, serve.max_num_batched_tokens) == (262144, 8192)
    assert serve.gpu_memory_utilization == 0.7
    assert settings.rdma
    assert all("NCCL_IB_HCA" in host.env for host in settings.hosts)


def test_spark_pair_fits_two_sparks() -> None:
    settings = _settings(STACKS / "Pulumi.spark-pair.yaml")
    spark = HostMemory(total=round(119.7 * GIB), unified=True, device="NVIDIA GB10")
    memory = {host.name: spark for host in settings.hosts}
    model = architecture("Qwen3.5-122B-A10B", FP8)
    weighed = fit(settings, layout(settings), model, None, memory)
    assert weighed.verdict is Verdict.FITS
    assert weighed.kv is not None
    assert weighed.kv.max_concurrency > 1
