"""A model from the Hub, in the order of the file; the Hub, Ray and vLLM are stand-ins.

The hosts reach the Hub at the operator's machine, and the client in the image is the real one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import Lab
from tests.hub import COMMIT, StandInHub, hub_of_the_lab, shard
from tests.project import Project, shown_secrets

MODEL = "tandem/tiny-qwen3"
SHARD = "model.safetensors"
WEIGHTS = shard(a=24_000_000)
BLOCK = 10 * 1024**2
"""What huggingface_hub writes at once; of a connection that ends the last one may be lost."""
TOKEN = "hf_of_the_lab_tests_5f2a"
VOLUMES = [f"tandem-hub-lab-{number}-hub" for number in (1, 2)]
FILE = f"/var/lib/docker/volumes/{{}}/_data/{SHARD}"


@pytest.fixture(scope="module")
def hub(hosts: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandInHub]:
    """Return a Hub that has the lab's model, with weights of some size, behind a token."""
    with hub_of_the_lab(hosts, tmp_path_factory.mktemp("hf")) as hub:
        hub.models[MODEL] |= {SHARD: WEIGHTS, "original/consolidated.00.pth": b"not needed"}
        hub.token = TOKEN
        yield hub


@pytest.fixture(scope="module")
def stack(
    hosts: Lab, hub: StandInHub, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    project = Project.copy(tmp_path_factory.mktemp("hub") / "project", "hub", "lab")
    project.change("image.reference", hosts.stand_in_image)
    project.change("model.source", {"hub": True, "endpoint": hub.address})
    project.change("model.revision", "main")
    yield project
    project.pulumi("destroy", "--yes", "--skip-preview")
    for host, volume in zip(hosts.hosts, VOLUMES, strict=True):
        host.ssh(f"docker volume rm {volume}")


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the operator hold the token."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)


def volumes(hosts: Lab) -> list[str]:
    """Return the names of each host's volumes."""
    return [host.ssh("docker volume ls -q").stdout for host in hosts.hosts]


def given(hub: StandInHub, hosts: Lab) -> list[dict[str, int]]:
    """Return for each host the bytes that it was given of each file."""
    return [
        {name: size for (client, name), size in hub.given.items() if client == host.address}
        for host in hosts.hosts
    ]


def test_a_name_in_the_place_of_a_commit_is_refused_with_the_commit(
    stack: Project, hub: StandInHub, hosts: Lab
) -> None:
    before = volumes(hosts)
    done = stack.up()
    assert done.code not in (0, 7)
    lines = [line for line in done.text.splitlines() if "[revision-not-fixed]" in line]
    assert f'"main" is no commit, and what {hub.address} has can change; write {COMMIT}' in lines[0]
    assert volumes(hosts) == before
    stack.change("model.revision", COMMIT)


def test_a_model_behind_terms_fails_the_up_and_says_where_the_token_goes(
    stack: Project, hub: StandInHub
) -> None:
    done = stack.up()
    assert done.code not in (0, 7)
    said = [line for line in done.text.splitlines() if "can't fetch the model's files: " in line]
    assert {line.split()[1 if "error:" in line else 0] for line in said} >= {"lab-1", "lab-2"}
    assert all("(401)" in line and "set the variable HF_TOKEN" in line for line in said)
    assert "Traceback" not in done.text
    assert not list((stack.folder / "stacks" / "manifests").glob("*"))


def test_a_download_that_broke_is_taken_up_by_the_next_up_where_it_ended(
    stack: Project, hub: StandInHub, hosts: Lab, token: None
) -> None:
    hub.cut[SHARD] = 15_000_000
    broken = stack.up()
    assert broken.code not in (0, 7)
    assert f"lab-2: {SHARD}: {hub.address}: " in broken.text
    hub.heal()
    seen: list[str] = []
    words = "ps -eww -o args; docker ps -q | xargs -r docker inspect; cat /proc/[0-9]*/environ"
    hub.watch = lambda: seen.extend(host.ssh(words).stdout for host in hosts.hosts)
    done = stack.up()
    hub.watch = lambda: None
    assert done.code == 0, done.text
    rest = len(WEIGHTS) - BLOCK
    assert [files[SHARD] for files in given(hub, hosts)] == [rest, rest]
    assert any("/model" in text and "python3 -c" in text for text in seen)
    assert not [text for text in seen if TOKEN in text]


def test_what_was_fetched_is_served_and_a_second_up_has_nothing_to_do(
    stack: Project, hub: StandInHub
) -> None:
    (path,) = (stack.folder / "stacks" / "manifests").glob("*.json")
    manifest = json.loads(path.read_text())
    assert manifest["revision"] == COMMIT
    assert manifest["files"].keys() == {
        name for name in hub.models[MODEL] if not name.startswith("original/")
    }
    outputs = stack.outputs()
    assert outputs["weights"]["files"] == len(manifest["files"])
    hub.given.clear()
    assert stack.planned() == {}
    assert not hub.given


def test_the_token_is_kept_nowhere(stack: Project, hosts: Lab) -> None:
    state = stack.pulumi("stack", "export", "--show-secrets").text
    assert COMMIT in state
    logs = "journalctl 2>/dev/null; cat /var/log/*.log; docker ps -aq | xargs docker inspect"
    kept = [state, *(host.ssh(logs).stdout for host in hosts.hosts)]
    assert all(text and TOKEN not in text for text in kept)
    for path in stack.folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert TOKEN.encode() not in path.read_bytes(), path
    assert not shown_secrets(state)


def test_only_a_wrong_file_and_a_missing_one_are_fetched_again(
    stack: Project, hub: StandInHub, hosts: Lab, token: None
) -> None:
    first, second = (
        (host, Path(FILE.format(volume))) for host, volume in zip(hosts.hosts, VOLUMES, strict=True)
    )
    flip = f"printf X | dd of={second[1]} bs=1 seek=5000 conv=notrunc status=none"
    assert second[0].ssh(flip).returncode == 0
    assert first[0].ssh(f"rm {first[1].with_name('config.json')}").returncode == 0
    told = stack.tandem("weights", "hub")
    assert told.code == 7
    assert "lab-1: config.json is missing" in told.text
    assert "`python -m tandem weights STACKFILE --fetch` fetches them again" in told.text
    hub.given.clear()
    fetched = stack.tandem("weights", "hub", "--fetch")
    assert fetched.code == 0, fetched.text
    size = len(hub.models[MODEL]["config.json"])
    assert given(hub, hosts) == [{"config.json": size}, {SHARD: len(WEIGHTS)}]
    assert stack.tandem("weights", "hub").code == 0


def test_the_files_stay_when_the_stack_is_destroyed_and_the_next_up_takes_them_over(
    stack: Project, hub: StandInHub, hosts: Lab
) -> None:
    destroyed = stack.pulumi("destroy", "--yes", "--skip-preview")
    assert destroyed.code == 0, destroyed.text
    assert [text.split() for text in volumes(hosts)] == [[volume] for volume in VOLUMES]
    hub.given.clear()
    done = stack.up()
    assert done.code == 0, done.text
    assert not hub.given


def test_the_files_go_with_the_stack_where_that_was_declared(stack: Project, hosts: Lab) -> None:
    stack.change("model.deleteOnDestroy", True)
    assert stack.up().code == 0
    destroyed = stack.pulumi("destroy", "--yes", "--skip-preview")
    assert destroyed.code == 0, destroyed.text
    assert volumes(hosts) == ["", ""]


def test_a_stack_goes_over_from_a_folder_to_the_hub_and_back(
    stack: Project, hub: StandInHub, hosts: Lab, token: None
) -> None:
    from_hub = ({"hub": True, "endpoint": hub.address}, COMMIT)
    from_folder = ({"path": f"/srv/models/{MODEL.partition('/')[2]}"}, None)
    stack.change("model.deleteOnDestroy", False)
    for (source, revision), volume in (
        (from_folder, "tandem-hub-lab-2-model"),
        (from_hub, VOLUMES[1]),
        (from_folder, "tandem-hub-lab-2-model"),
    ):
        stack.change("model.source", source)
        stack.change("model.revision", COMMIT)
        if revision is None:
            stack.change("model.revision", None)
        done = stack.up()
        assert done.code == 0, done.text
        mounts = "docker inspect tandem-hub-lab-2-ray-worker --format '{{json .Mounts}}'"
        mounted = {mount["Name"] for mount in json.loads(hosts.hosts[1].ssh(mounts).stdout)}
        assert volume in mounted
        assert stack.planned() == {}
