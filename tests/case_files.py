"""The files of tests/cases as inputs of the planner; tests/cases/README.md describes their form."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tandem.planner.layout import layout
from tandem.planner.memory.fit import fit
from tandem.planner.memory.hosts import HostMemory, Measured
from tandem.planner.memory.result import Fit
from tandem.planner.memory.weights import declared_weights
from tandem.planner.model.architecture import Architecture, read_architecture
from tandem.settings import Settings
from tandem.units import parse_bytes
from tests import builders

FOLDER = Path(__file__).parent / "cases"
ON_HOST = {"gpus", "env"}
"""Keys of a case's host that are keys of the stack file's; the rest is its memory."""

Case = dict[str, Any]


@cache
def all_cases() -> dict[str, Case]:
    """Return every case by its name: the file's, and its own where a file has several."""
    cases: dict[str, Case] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        data = yaml.safe_load(path.read_text())
        variants = data.pop("variants", None)
        for variant in variants or [{}]:
            name = f"{path.stem}: {variant['about']}" if variants else path.stem
            assert name not in cases, f"{name} is there twice"
            cases[name] = _merged(data, variant)
    return cases


def config_of(case: Case) -> dict[str, Any]:
    """Return the model's config.json with the case's changes."""
    config = json.loads((FOLDER / "configs" / f"{case['config']}.json").read_text())
    return _merged(config, case.get("changes", {}))


def model_of(case: Case) -> Architecture:
    """Return what is read of it."""
    return read_architecture(config_of(case))


def settings_of(case: Case) -> Settings:
    """Return the least that a stack file says, with the case's settings."""
    declared = builders.config(len(case["hosts"]))
    for host, said in zip(declared["hosts"], case["hosts"], strict=True):
        host |= {key: said[key] for key in ON_HOST & set(said)}
    return builders.load(_merged(declared, case.get("settings", {})))


def memory_of(case: Case, settings: Settings) -> dict[str, HostMemory]:
    """Return the memory that the case says, by host name."""
    sizes = {"total", "free"}
    return {
        host.name: HostMemory(
            **{
                key: size_of(value) if key in sizes else value
                for key, value in said.items()
                if key not in ON_HOST
            }
        )
        for host, said in zip(settings.hosts, case["hosts"], strict=True)
        if "total" in said
    }


def fit_of(case: Case, logged: dict[str, Any] | None = None) -> Fit:
    """Return what the planner makes of a case with what its start ``logged``, e.g. kv_budget."""
    settings = settings_of(case)
    weights = case.get("weights")
    measured = {f"{key}_bytes": size_of(value) for key, value in (logged or {}).items()}
    return fit(
        settings,
        layout(settings),
        model_of(case),
        declared_weights(size_of(weights), "declared") if weights else None,
        memory_of(case, settings),
        Measured(origin=case["source"], **measured) if measured else None,
    )


def size_of(value: object) -> int:
    """Return a size in bytes."""
    size = parse_bytes(value)
    assert isinstance(size, int)
    return size


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in changes.items():
        inner = merged.get(key)
        both = isinstance(inner, dict) and isinstance(value, dict)
        merged[key] = _merged(inner, value) if both and inner else value
    return merged
