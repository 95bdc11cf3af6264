"""Ways to make a finding: by what a stack file says, a host shows, or a command is given."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from tandem.cli import logs
from tandem.cli.stack_file import read_stack_file
from tandem.errors import FindingsError
from tandem.planner.assess import assess
from tandem.planner.checks import check_unseen
from tandem.survey.facts import Facts, HubFacts, ModelFacts
from tandem.units import GIB
from tests import models
from tests.builders import config, facts, findings, gpu, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tandem.findings import Finding

    Case = Callable[[Path], Iterable[Finding]]
    """Returns what is found; the folder is there to write files to."""

STACK_FILE = json.dumps({"config": {f"tandem:{key}": value for key, value in config(1).items()}})
"""The least of a stack file; Pulumi reads JSON as YAML, too."""


def raises(call: Callable[[Path], object]) -> Case:
    """Return the case of a call that ends in findings."""

    def case(folder: Path) -> Iterable[Finding]:
        try:
            call(folder)
        except FindingsError as refused:
            return refused.findings
        return ()

    return case


def declares(hosts: int, changes: dict[str, Any], **known: Any) -> Case:
    """Return the case of a stack file on its own; ``known`` are Facts without hosts."""
    declared, seen = settings(hosts, changes), Facts(**known)
    return lambda folder: [*assess(declared, seen).findings, *check_unseen(declared, seen)]


def mistypes(changes: dict[str, Any]) -> Case:
    """Return the case of a stack file that can't be read with these changes."""
    return raises(lambda folder: settings(1, changes))


def weighs(changes: dict[str, Any], total: str = "24GiB", version: str | None = "0.19.1") -> Case:
    """Return the case of a small model on a host of this memory."""
    said = {"image.vllm": version} if version else {}
    memory = {"hosts.0.memory": {"total": total}}
    return declares(1, said | memory | changes, model=ModelFacts(config=models.config("Qwen3-8B")))


def shows(first: dict[str, Any], last: dict[str, Any] | None = None, **others: Any) -> Case:
    """Return the case of healthy hosts with changes, two of them when ``last`` is given."""
    return lambda folder: findings(1 if last is None else 2, first, last=last, **others)


def frees(free: int) -> Case:
    """Return the case of a small model on a GPU of 24 GiB with so many bytes free."""
    declared = settings(1, {"image.vllm": "0.19.1", "serve.maxModelLen": 16_384})
    seen = facts(declared, {"gpus": (gpu(memory_total=24 * GIB, memory_free=free),)})
    known = seen.model_copy(update={"model": ModelFacts(config=models.config("Qwen3-8B"))})
    return lambda folder: assess(declared, known).findings


def asks(hub: HubFacts) -> Case:
    """Return the case of a model of which the Hub says this."""
    declared = settings(1, {"model.source": {"hub": True}})
    seen = facts(declared).model_copy(update={"hub": hub})
    return lambda folder: assess(declared, seen).findings


def reads(text: str, *changes: str) -> Case:
    """Return the case of a stack file with this text, and of words after ``--set``."""
    return raises(lambda folder: read_stack_file(_written(folder, text), changes))


def logs_with(*words: str) -> Case:
    """Return the case of ``python -m tandem logs`` with these words."""

    def call(folder: Path) -> None:
        parser = argparse.ArgumentParser()
        logs.add_arguments(parser)
        logs.run(parser.parse_args([_written(folder, STACK_FILE), *words]))

    return raises(call)


def both(one: Case, other: Case) -> Case:
    """Return two cases as one."""
    return lambda folder: [*one(folder), *other(folder)]


def broken(folder: Path) -> Path:
    """Return a file that is not what anybody wrote."""
    path = folder / "kept.json"
    path.write_text("{")
    return path


def _written(folder: Path, text: str) -> str:
    path = folder / "Pulumi.prod.yaml"
    path.write_text(text)
    return str(path)
