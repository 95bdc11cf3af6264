"""The planner's whole answers to tests/cases, and what it reads of each config.json there.

A case says what is known of the right answer. This is all that the planner makes of it, to the
byte, so that a change of the memory model shows whose answer it changes.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import yaml

from tandem.planner.rules import check, check_architecture
from tandem.planner.summary import fit_summary
from tests.case_files import FOLDER, Case, all_cases, fit_of, memory_of, model_of, settings_of
from tests.models import architecture

if TYPE_CHECKING:
    from tandem.planner.memory.result import Fit

ANSWERS = FOLDER / "answers"
READ = FOLDER / "configs" / "read"


def answer(file: str) -> str:
    """Return the answers to the cases of a file, named without its folder and ending, as YAML."""
    cases = {name: case for name, case in all_cases().items() if name.partition(": ")[0] == file}
    made = {name.partition(": ")[2] or "answer": _answer(case) for name, case in cases.items()}
    return yaml.safe_dump(
        made, width=120, sort_keys=False, allow_unicode=True, default_flow_style=None
    )


def _answer(case: Case) -> dict[str, Any]:
    settings = settings_of(case)
    found = check(settings)
    made: dict[str, Any] = {}
    if "config" in case:
        model = model_of(case)
        found += check_architecture(settings, model)
        if memory_of(case, settings):
            weighed = fit_of(case, case.get("logged"))
            found += weighed.findings
            made = {"verdict": str(weighed.verdict), **_weighed(weighed)}
            made["options"] = weighed.options.model_dump(mode="json")
    return {"findings": [f"{finding.severity} {finding}" for finding in found], **made}


def read(model: str) -> str:
    """Return what is read of a config.json; of layers and of what is not quantized, how many."""
    said = {key: value for key, value in architecture(model).model_dump(mode="json").items()}
    kinds = Counter(
        " ".join(f"{key}={value}" for key, value in layer.items()) for layer in said["layers"]
    )
    said["layers"] = dict(kinds)
    if said["quantization"]:
        said["quantization"]["left_out"] = len(said["quantization"]["left_out"])
    return yaml.safe_dump(said, width=120, sort_keys=False)


def _weighed(weighed: Fit) -> dict[str, Any]:
    """Return the figures of a rank of each stage; of the reserve, the least and the most."""
    said = fit_summary(weighed)
    ranks = {rank["stage"]: rank for rank in said.pop("ranks")}
    outside = {rank.stage: rank.reserve.outside for rank in weighed.ranks}
    for stage, rank in ranks.items():
        rank["reserve"] = {part["name"]: [part["low"], part["high"]] for part in rank["reserve"]}
        rank["outside"] = {part.name: [part.low, part.high] for part in outside[stage]}
    return {"ranks": list(ranks.values()), **said}


RECORDS = {
    ANSWERS / path.name: partial(answer, path.stem) for path in sorted(FOLDER.glob("*.yaml"))
} | {
    READ / f"{path.stem}.yaml": partial(read, path.stem)
    for path in sorted((FOLDER / "configs").glob("*.json"))
}
"""What makes each file of the two folders."""
