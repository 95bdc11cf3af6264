"""Look at every host at once, over one multiplexed SSH connection each."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING

from tandem.settings import STACKS, STARTS
from tandem.ssh import UNREACHABLE, last_line
from tandem.survey.facts import Facts, HostFacts, ImageFacts, ModelFacts
from tandem.survey.model import declared_model
from tandem.survey.parse import host_facts
from tandem.survey.registry import image_facts
from tandem.survey.starts import earlier_starts

if TYPE_CHECKING:
    from collections.abc import Sequence
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
    seen = look_at_hosts(settings, stack)
    return seen.model_copy(update={"model": seen.model or read.model, "starts": read.starts})


def files(settings: Settings, folder: Path = STACKS) -> Facts:
    """Return what files beside the stack file say: ``model.config`` and earlier starts.

    Raises InvalidStack when one can't be read.
    """
    starts = earlier_starts(folder / STARTS.name)
    return Facts(model=declared_model(settings, folder), starts=starts)


def look_at_hosts(settings: Settings, stack: str) -> Facts:
    """Return what is on the hosts."""
    with ThreadPoolExecutor(max_workers=len(settings.hosts)) as pool:
        hosts = tuple(pool.map(lambda host: _look(host, settings, stack), settings.hosts))
    # Only then, over the connection that is there: two at once would be two connections.
    head, target = hosts[0], settings.head.target
    image = image_facts(target, settings.image, head) if head.is_usable else ImageFacts()
    digest = image.digest or settings.image.digest
    name = f"{settings.image.repository}@{digest}" if digest else settings.image.reference
    hosts = tuple(host.model_copy(update={"image": host.image_named(name)}) for host in hosts)
    return Facts(stack=stack, hosts=hosts, image=image, model=model_facts(hosts))


def model_facts(hosts: Sequence[HostFacts]) -> ModelFacts | None:
    """Return the model as the first host has it that has one."""
    for host in hosts:
        if host.model.config is not None:
            return ModelFacts(config=host.model.config, weights_bytes=host.model.weights_bytes)
    return None


def _look(host: HostSettings, settings: Settings, stack: str) -> HostFacts:
    if host.retired:
        return HostFacts(name=host.name, skipped=True)
    probe = resources.files("tandem.survey").joinpath("probe.sh").read_text()
    others = [str(other.address) for other in settings.hosts if other != host]
    subjects = (stack, settings.model.source.path, settings.image.repository)
    words = ("sh", "-s", "--", *subjects, str(settings.ray.port), *others)
    sent = time.time()
    answer = host.target.run(*words, stdin=probe, timeout=TIMEOUT_SECONDS)
    received = time.time()
    if answer.returncode == UNREACHABLE:
        problem = last_line(answer.stderr) or "no answer"
        # A dead network disk stops the probe where it meets it.
        section = answer.stdout.rpartition("\n@@")[2].partition("\n")[0]
        at = f", while looking at: {section}" if section else ""
        return HostFacts(name=host.name, problem=problem + at)
    return host_facts(host.name, stack, answer.stdout, sent=sent, received=received)
