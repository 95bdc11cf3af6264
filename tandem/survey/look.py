"""Look at every host at once, over one multiplexed SSH connection each."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import TYPE_CHECKING

from tandem.errors import HubFailed
from tandem.settings import IMAGES, STACKS, STARTS, is_commit
from tandem.ssh import UNREACHABLE, last_line
from tandem.survey.base import last_title
from tandem.survey.docker_answers import docker_answers
from tandem.survey.docker_api import DockerSilent
from tandem.survey.facts import Facts, HostFacts, HubFacts, ImageFacts, ModelFacts
from tandem.survey.hub import hub_facts, hub_model
from tandem.survey.images import known_images
from tandem.survey.model import declared_model
from tandem.survey.parse import host_facts
from tandem.survey.registry import image_facts
from tandem.survey.starts import earlier_starts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tandem.settings import HostSettings, Settings

TIMEOUT_SECONDS = 20
"""How long one host may take to answer, Docker aside."""


def survey(settings: Settings, stack: str, folder: Path = STACKS) -> Facts:
    """Return what is on the hosts, and what files beside the stack file say.

    Looks at no host when the stack file switches the survey off. Raises InvalidStack when a file
    can't be read.
    """
    read = files(settings, folder)
    if not settings.survey:
        return read
    seen = look_at_hosts(settings, stack)
    kept = {"starts": read.starts, "images": read.images}
    return seen.model_copy(update={"model": seen.model or read.model, **kept})


def files(settings: Settings, folder: Path = STACKS) -> Facts:
    """Return what files beside the stack file say: ``model.config``, earlier starts and images.

    Raises InvalidStack when one can't be read.
    """
    return Facts(
        model=declared_model(settings, folder),
        starts=earlier_starts(folder / STARTS.name),
        images=known_images(folder / IMAGES.name),
    )


def look_at_hosts(settings: Settings, stack: str) -> Facts:
    """Return what is on the hosts."""
    with ThreadPoolExecutor(max_workers=len(settings.hosts)) as pool:
        hosts = tuple(pool.map(lambda host: _look(host, settings, stack), settings.hosts))
    # Only then, over the connection that is there: two at once would be two connections.
    first, target = hosts[0], settings.first_host.target
    image = image_facts(target, settings.image, first) if first.is_usable else ImageFacts()
    digest = image.digest or settings.image.digest
    name = f"{settings.image.repository}@{digest}" if digest else settings.image.reference
    hosts = tuple(host.model_copy(update={"image": host.image_named(name)}) for host in hosts)
    hub, model = _hub(settings, hosts)
    return Facts(stack=stack, hosts=hosts, image=image, hub=hub, model=model)


def model_facts(hosts: Sequence[HostFacts]) -> ModelFacts | None:
    """Return the model as the first host has it that has one."""
    for host in hosts:
        if host.model.config is not None:
            return ModelFacts(config=host.model.config, weights_bytes=host.model.weights_bytes)
    return None


def _hub(
    settings: Settings, hosts: Sequence[HostFacts]
) -> tuple[HubFacts | None, ModelFacts | None]:
    """Return what the Hub says, where the hosts can't tell yet, and the model."""
    model, seen = settings.model, model_facts(hosts)
    is_pinned = model.revision is not None and is_commit(model.revision)
    is_there = all(host.fetched_bytes != 0 for host in hosts)
    is_known = seen is not None or model.config is not None
    if not model.source.hub or (is_pinned and is_there and is_known):
        return None, seen
    hub = hub_facts(model)
    if hub is None or hub.refusal or is_known:
        return hub, seen
    try:
        return hub, hub_model(model.id, hub.commit, model.source.endpoint)
    except HubFailed:
        return hub, None  # what the Hub lacks, or does not give, the weights gate says


def _look(host: HostSettings, settings: Settings, stack: str) -> HostFacts:
    if host.retired:
        return HostFacts(name=host.name, skipped=True)
    try:
        docker = docker_answers(host.target, stack, settings.image.repository)
    except DockerSilent as silent:
        return HostFacts(name=host.name, problem=str(silent))
    docker_root = docker.get("info", {}).get("DockerRootDir", "")
    probe = resources.files("tandem.survey").joinpath("probe.sh").read_text()
    others = [str(other.address) for other in settings.hosts if other != host]
    model = settings.model.source.on_host(stack, host.name)
    words = ("sh", "-s", "--", docker_root, model, str(settings.backend_port))
    sent = time.time()
    answer = host.target.run(*words, *others, stdin=probe, timeout=TIMEOUT_SECONDS)
    received = time.time()
    if answer.returncode == UNREACHABLE:
        problem = last_line(answer.stderr) or "no answer"
        # A dead network disk stops the probe where it meets it.
        section = last_title(answer.stdout)
        at = f", while looking at: {section}" if section else ""
        return HostFacts(name=host.name, problem=problem + at)
    return host_facts(host.name, stack, docker, answer.stdout, sent=sent, received=received)
