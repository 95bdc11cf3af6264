"""`make bench`: from start to first completion, by `pulumi up` and by a plain script, in one run.

Needs the lab. The image is on the hosts before the first measurement. Each way runs three times,
in turn; medians and their ratio are printed.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import yaml

from lab import Lab
from tandem.planner import Plan, make_plan
from tandem.survey import survey
from tests.bench import script
from tests.builders import load
from tests.project import Project

RUNS = 3
STACK = "bench"


def main() -> None:
    """Measure and print."""
    Lab.up(2)
    times: dict[str, list[float]] = {"plain script": [], "pulumi up": []}
    with tempfile.TemporaryDirectory() as folder:
        project = Project.copy(Path(folder) / "project", STACK, "lab")
        plan = _plan(project)
        for host in plan.hosts:
            script.say(host.target, "docker", "pull", "--quiet", host.image)
        for _ in range(RUNS):
            times["plain script"].append(_script(plan))
            times["pulumi up"].append(_pulumi(project))
    for name, seconds in times.items():
        print(f"{name:12}  median {statistics.median(seconds):6.1f} s of {_listed(seconds)}")
    plain, pulumi = (statistics.median(seconds) for seconds in times.values())
    print(f"ratio         {pulumi / plain:.3f}  (goal 1.05)")


def _plan(project: Project) -> Plan:
    config = yaml.safe_load(project.stack_file.read_text())["config"]
    settings = load({key.removeprefix("tandem:"): value for key, value in config.items()})
    return make_plan(settings, survey(settings, STACK), STACK)


def _script(plan: Plan) -> float:
    began = time.monotonic()
    script.start(plan)
    seconds = time.monotonic() - began
    script.remove(plan)
    return seconds


def _pulumi(project: Project) -> float:
    began = time.monotonic()
    done = project.up()
    seconds = time.monotonic() - began
    if done.code != 0:
        raise RuntimeError(done.text)
    project.pulumi("destroy", "--yes", "--skip-preview")
    return seconds


def _listed(seconds: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in seconds)


if __name__ == "__main__":
    main()
