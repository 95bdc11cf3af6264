"""Look at every host at once, over one multiplexed SSH connection each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING

from tandem.settings import STACKS, STARTS
from tandem.ssh import UNREACHABLE, last_line
from tandem.survey.facts import Facts, HostFacts, ImageFacts
from tandem.survey.model import declared_model
from tandem.survey.parse import host_facts
from tandem.survey.registry import image_facts
from tandem.survey.starts import earlier_starts

if TYPE_CHECKING:
    from pathlib import Path

    from tandem.settings import HostSettings, Settings

TIMEOUT_SECONDS = 30
"""How long one host may take to answer."""


def survey(settings: Settings, stack: str, folder: Path = STACKS) -> Facts:
    """Return what is on the hosts, and what files beside the stack file say.

    Looks at no host when the stack file switches the survey off. Raises InvalidStack when a file
    can't be read.
    """
    read = files(settings, folder)
    if not settings.survey:
        return read
    with ThreadPoolExecutor(max_workers=len(settings.hosts)) as pool:
        hosts = tuple(pool.map(lambda host: _look(host, settings, stack), settings.hosts))
    head = hosts[0]
    can_ask = head.problem is None and head.docker_problem is None
    image = image_facts(settings.head.target, settings.image) if can_ask else ImageFacts()
    return Facts(hosts=hosts, image=image, model=read.model, starts=read.starts)


def files(settings: Settings, folder: Path = STACKS) -> Facts:
    """Return what files beside the stack file say: ``model.config`` and earlier starts.

    Raises InvalidStack when one can't be read.
    """
    starts = earlier_starts(folder / STARTS.name)
    return Facts(model=declared_model(settings, folder), starts=starts)


def _look(host: HostSettings, settings: Settings, stack: str) -> HostFacts:
    probe = resources.files("tandem.survey").joinpath("probe.sh").read_text()
    words = ("sh", "-s", "--", stack, settings.model.source.path)
    answer = host.target.run(*words, stdin=probe, timeout=TIMEOUT_SECONDS)
    if answer.returncode == UNREACHABLE:
        return HostFacts(name=host.name, problem=last_line(answer.stderr) or "no answer")
    return host_facts(host.name, answer.stdout)
