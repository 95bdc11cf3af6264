"""The image gate: the image holds the same Python, Ray and vLLM on every host, and Ray is there.

What it finds is kept in a file beside the stack file, for the rules of the next plan.
It runs when the stack file names another image or other hosts.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tandem.errors import GateFailed
from tandem.gates.containers import say
from tandem.gates.files import write_json
from tandem.gates.run import run_gate
from tandem.gates.spec import ImageHost, ImageSpec
from tandem.remote import source
from tandem.ssh import UNREACHABLE, last_line

SECONDS = 180
"""How long a host may take: the first container of an image reads it from the disk."""
RAY = "2.60.0"
"""The version that was run with vLLM 0.32.0."""

_OPTIONS = ("--rm", "--interactive", "--pull=never", "--network=none", "--log-driver=none")

Versions = dict[str, str | None]
"""By name: ``python``, ``ray``, ``vllm``; None is what is not installed."""


def look(spec: ImageSpec) -> dict[str, object]:
    """Compare the image on all hosts; return its versions.

    Raises GateFailed when they differ, when Ray is missing, or when a host can't tell.
    """
    with ThreadPoolExecutor(max_workers=len(spec.hosts)) as pool:
        found = list(pool.map(lambda host: _versions(host, spec.image), spec.hosts))
    hosts = [host.host for host in spec.hosts]
    lines = [line for name in found[0] if (line := _differing(name, hosts, found))]
    if lines:
        way = f"pull {spec.image} anew on the host that is wrong, or take hosts of one architecture"
        raise GateFailed("\n".join(["the image is not the same everywhere:", *lines, way]))
    _keep(spec, found[0])
    if spec.needs_ray and found[0]["ray"] is None:
        raise GateFailed(_without_ray(spec, found[0]))
    said = ", ".join(f"{name} {version}" for name, version in found[0].items() if version)
    say(f"the image has {said} on {', '.join(hosts)}")
    return dict(found[0])


def _versions(host: ImageHost, image: str) -> Versions:
    run = ("docker", "run", *_OPTIONS, "--entrypoint=python3", image, "-")
    answer = host.target.run(
        "timeout", str(SECONDS), *run, stdin=source("versions.py"), timeout=SECONDS + 30
    )
    if answer.returncode == UNREACHABLE:
        raise GateFailed(f"host {host.host} does not answer: {last_line(answer.stderr)}")
    if answer.returncode != 0:
        words = last_line(answer.stderr) or f"no answer within {SECONDS} s"
        raise GateFailed(f"{host.host} can't run the image's python3: {words}")
    try:
        versions: Versions = json.loads(answer.stdout)
    except json.JSONDecodeError:
        said = f"it said {answer.stdout[:80]!r}" if answer.stdout else "it said nothing"
        raise GateFailed(f"{host.host} can't run the image's python3: {said}") from None
    return versions


def _differing(name: str, hosts: list[str], found: list[Versions]) -> str:
    """Return the versions by host when they are not the same; else nothing."""
    values = [one[name] for one in found]
    if len(set(values)) == 1:
        return ""
    shown = (f"{v or 'none'} on {host}" for v, host in zip(values, hosts, strict=True))
    return f"{name} differs: {', '.join(shown)}"


def _without_ray(spec: ImageSpec, found: Versions) -> str:
    return (
        f"{spec.image} has no Ray (vLLM {found['vllm'] or 'unknown'}, Python {found['python']}), "
        f"and {len(spec.hosts)} hosts need it; build an image of two lines, `FROM {spec.image}` "
        f"and `RUN pip install ray=={RAY}`, and declare that one, or set `backend: mp`, which "
        "needs no Ray"
    )


def _keep(spec: ImageSpec, found: Versions) -> None:
    path = Path(spec.record)
    if not path.exists():
        write_json(path, {"digest": spec.image.partition("@")[2], **found})
        say(f"what the image holds is in {path}")


if __name__ == "__main__":
    sys.exit(run_gate(lambda text: look(ImageSpec.from_json(text))))
