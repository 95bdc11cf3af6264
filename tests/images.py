"""Images that tests make of the lab's own, in the lab's registry."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from lab.image.recipe import SITE_PACKAGES, TAG

if TYPE_CHECKING:
    from lab import Lab

_SECONDS = 900
"""The first host has to pull the whole image first."""
_WITHOUT_RAY = """
set -eu
base={base} made={made} name=tandem-tests-without-ray
label() {{ docker image inspect --format '{{{{index .Config.Labels "base"}}}}' "$made"; }}
if ! {{ docker pull --quiet "$made" && [ "$(label)" = "$base" ]; }} >/dev/null 2>&1; then
    docker rm --force "$name" >/dev/null 2>&1 || true
    docker run --name "$name" --entrypoint sh "$base" -c {remove} >&2
    docker commit --change 'ENTRYPOINT []' --change 'CMD ["python3"]' --change "LABEL base=$base" \\
        "$name" "$made" >&2
    docker rm "$name" >&2
    docker push --quiet "$made" >&2
fi
docker image inspect --format '{{{{range .RepoDigests}}}}{{{{println .}}}}{{{{end}}}}' "$made"
"""


def without_ray(lab: Lab) -> str:
    """Return the reference, with its digest, of the lab's vLLM image from which Ray is removed.

    The first host makes it of ``lab.image`` and pushes it, unless the registry has it already.
    """
    repository = f"{lab.site.registry}/vllm-cpu-without-ray"
    made = f"{repository}:{TAG}"
    folders = f"/{SITE_PACKAGES}/ray /{SITE_PACKAGES}/ray-*.dist-info"
    remove = f"rm -rf {folders} /opt/venv/bin/ray; ! python3 -c 'import ray' 2>/dev/null"
    script = _WITHOUT_RAY.format(base=lab.image, made=made, remove=shlex.quote(remove))
    done = lab.hosts[0].ssh("sh -s", stdin=script, timeout=_SECONDS)
    assert done.returncode == 0, done.stderr
    (found,) = (line for line in done.stdout.split() if line.startswith(f"{repository}@"))
    return f"{made}@{found.partition('@')[2]}"
