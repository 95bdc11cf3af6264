"""From nothing to the first completion, a change of a flag, and a repair, beside a plain script.

The image is on the hosts before the first measurement. Both ways run in turn. With the stand-in
for Ray and vLLM, which starts in a second, what is left is each way's own work.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml

from lab import Lab
from tandem.planner import Plan, make_plan
from tandem.survey import survey
from tests.bench import script
from tests.bench.measure import RUNS, Comparison, succeed, timed
from tests.builders import load
from tests.project import Project

STACK = "bench"
LENGTHS = (512, 256)
"""Of a request, before the change and after it."""
STEPS = (
    ("`up` from nothing to the first completion", "a script starts the same containers", 1.03),
    ("`up` after another `serve.maxModelLen`", "a script replaces the server", 1.05),
    ("`up --refresh` after a killed worker", "a script replaces worker and server", 1.1),
)


def measure(*, stand_in: bool = False) -> list[Comparison]:
    """Return the three steps of a deployment's life."""
    lab = Lab.up(2)
    ours: list[tuple[float, ...]] = []
    theirs: list[tuple[float, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        project = Project.copy(Path(folder) / "project", STACK, "lab")
        project.change("image.reference", lab.stand_in_image if stand_in else lab.image)
        plans = [_plan(project, length) for length in LENGTHS]
        for host in plans[0].hosts:
            script.say(host.target, "docker", "pull", "--quiet", host.image)
        for _ in range(RUNS):
            theirs.append(_by_script(lab, *plans))
            ours.append(_by_pulumi(lab, project, plans[0]))
    return [
        Comparison(what, seconds, beside, others, None if stand_in else goal)
        for (what, beside, goal), seconds, others in zip(
            STEPS, zip(*ours, strict=True), zip(*theirs, strict=True), strict=True
        )
    ]


def _plan(project: Project, length: int) -> Plan:
    project.change("serve.maxModelLen", length)
    config = yaml.safe_load(project.stack_file.read_text())["config"]
    settings = load({key.removeprefix("tandem:"): value for key, value in config.items()})
    return make_plan(settings, survey(settings, STACK), STACK)


def _by_script(lab: Lab, plan: Plan, changed: Plan) -> tuple[float, ...]:
    worker = changed.containers[1]
    start = timed(lambda: script.start(plan))
    change = timed(lambda: script.change(changed))
    lab.host(worker.host).kill(worker.name)
    repair = timed(lambda: script.repair(changed, worker))
    script.remove(changed)
    return start, change, repair


def _by_pulumi(lab: Lab, project: Project, plan: Plan) -> tuple[float, ...]:
    worker = plan.containers[1]
    project.change("serve.maxModelLen", LENGTHS[0])
    start = timed(lambda: succeed(project.up()))
    project.change("serve.maxModelLen", LENGTHS[1])
    change = timed(lambda: succeed(project.up()))
    lab.host(worker.host).kill(worker.name)
    repair = timed(lambda: succeed(project.up("--refresh")))
    succeed(project.pulumi("destroy", "--yes", "--skip-preview"))
    return start, change, repair
