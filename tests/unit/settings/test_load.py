"""Stack files, good and bad, as Pulumi hands them over."""

import json
import re
from typing import Any

import pytest

from tandem.errors import InvalidStack
from tandem.settings import load_settings
from tandem.settings.reference import reference
from tandem.units import GIB
from tests.builders import changed, load, settings

SSH = "write an alias, user@host, or ssh://user@host:port"

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a port without ssh://": (
        {"hosts.0.ssh": "host:22"},
        f'tandem:hosts[0].ssh: "host:22" can\'t be used here; {SSH} [bad-value]',
    ),
    "no time to get ready": (
        {"serve.readyTimeout": 0},
        "tandem:serve.readyTimeout: 0 can't be used here; "
        "it should be greater than or equal to 1 [bad-value]",
    ),
    "a size below one MiB": (
        {"shmSize": "5B"},
        'tandem:shmSize: "5B" can\'t be used here; '
        "it should be greater than or equal to 1048576 [bad-value]",
    ),
    "a misspelt key at the top": (
        {"shmsize": "1GiB"},
        'tandem:shmsize: this key is not known; did you mean "shmSize"? [unknown-key]',
    ),
    "a misspelt key of a host": (
        {"hosts.0.adress": "10.0.0.1"},
        'tandem:hosts[0].adress: this key is not known; did you mean "address"? [unknown-key]',
    ),
    "a key in snake_case": (
        {"serve.max_model_len": 512},
        "tandem:serve.max_model_len: this key is not known; "
        'did you mean "maxModelLen"? [unknown-key]',
    ),
    "a key like no other": (
        {"model.source.volume": True},
        "tandem:model.source.volume: this key is not known; known here: path, hub, endpoint "
        "[unknown-key]",
    ),
    "no hosts": (
        {"hosts": None},
        "tandem:hosts: this key is missing; add it to the stack file [missing-key]",
    ),
    "a host without an address": (
        {"hosts.0.address": None},
        "tandem:hosts[0].address: this key is missing; add it to the stack file [missing-key]",
    ),
    "an empty list of hosts": (
        {"hosts": []},
        "tandem:hosts: [] can't be used here; it must not be empty [bad-value]",
    ),
    "an option of ssh as destination": (
        {"hosts.0.ssh": "-oProxyCommand=x"},
        f'tandem:hosts[0].ssh: "-oProxyCommand=x" can\'t be used here; {SSH} [bad-value]',
    ),
    "an option of ssh inside a URL": (
        {"hosts.0.ssh": "ssh://-oProxyCommand=x"},
        f'tandem:hosts[0].ssh: "ssh://-oProxyCommand=x" can\'t be used here; {SSH} [bad-value]',
    ),
    "ssh with a space": (
        {"hosts.0.ssh": "host -v"},
        f'tandem:hosts[0].ssh: "host -v" can\'t be used here; {SSH} [bad-value]',
    ),
    "an address with three numbers": (
        {"hosts.0.address": "10.0.1"},
        'tandem:hosts[0].address: "10.0.1" can\'t be used here; '
        "expected 4 octets in '10.0.1' [bad-value]",
    ),
    "an empty API key": (
        {"apiKey": ""},
        "tandem:apiKey: its value can't be used here; it must not be empty [bad-value]",
    ),
    "an API key of another kind, which is not shown": (
        {"apiKey": ["sesame"]},
        "tandem:apiKey: its value can't be used here; it should be a valid string [bad-value]",
    ),
    "an empty list of GPUs": (
        {"hosts.0.gpus": []},
        "tandem:hosts[0].gpus: [] can't be used here; it must not be empty [bad-value]",
    ),
    "an empty entrypoint": (
        {"image.entrypoint": []},
        "tandem:image.entrypoint: [] can't be used here; it must not be empty [bad-value]",
    ),
    "no GPU": (
        {"hosts.0.gpus": 0},
        "tandem:hosts[0].gpus: 0 can't be used here; "
        "it should be greater than or equal to 1 [bad-value]",
    ),
    "a name in capitals": (
        {"hosts.0.name": "Host"},
        'tandem:hosts[0].name: "Host" can\'t be used here; '
        "write lower-case letters, digits and dashes [bad-value]",
    ),
    "ssh options as one text": (
        {"hosts.0.sshOptions": "-p 22"},
        'tandem:hosts[0].sshOptions: "-p 22" can\'t be used here; '
        "it should be a valid array [bad-value]",
    ),
    "a size without a unit that exists": (
        {"shmSize": "10 gigs"},
        'tandem:shmSize: "10 gigs" can\'t be used here; '
        '"10 gigs" is not a size; write bytes, or e.g. "10GiB" or "500MB" [bad-value]',
    ),
    "a duration in words": (
        {"serve.readyTimeout": "45 min"},
        'tandem:serve.readyTimeout: "45 min" can\'t be used here; '
        '"45 min" is not a duration; write seconds, or e.g. "90s" or "1h30m" [bad-value]',
    ),
    "a port above 65535": (
        {"serve.port": 70000},
        "tandem:serve.port: 70000 can't be used here; "
        "it should be less than or equal to 65535 [bad-value]",
    ),
    "an argument as a number": (
        {"serve.args": ["--seed", 5]},
        "tandem:serve.args[1]: 5 can't be used here; it should be a valid string [bad-value]",
    ),
    "a number as text": (
        {"serve.tensorParallel": "2"},
        'tandem:serve.tensorParallel: "2" can\'t be used here; '
        "it should be a valid integer [bad-value]",
    ),
    "no source of the model": (
        {"model.source": {}},
        "tandem:model.source: {} can't be used here; "
        "write either path, a folder of the hosts, or hub: true [bad-value]",
    ),
    "two sources of the model": (
        {"model.source.hub": True},
        'tandem:model.source: {"path": "/srv/model", "hub": true} can\'t be used here; '
        "write either path, a folder of the hosts, or hub: true [bad-value]",
    ),
    "a Hub's address for a folder": (
        {"model.source.endpoint": "https://hub.example"},
        'tandem:model.source: {"path": "/srv/model", "endpoint": "https://hub.example"} can\'t be '
        "used here; endpoint is the Hub's address: it goes with hub: true alone [bad-value]",
    ),
    "a Hub's address with a password": (
        {"model.source": {"hub": True, "endpoint": "https://me:secret@hub.example"}},
        'tandem:model.source.endpoint: "https://me:secret@hub.example" can\'t be used here; '
        "write an address such as https://hub.example.com, without user and password [bad-value]",
    ),
    "a folder that would be deleted": (
        {"model.deleteOnDestroy": True},
        "tandem:model.deleteOnDestroy: true can't be used here; what is in a folder always stays: "
        "it goes with source.hub alone [bad-value]",
    ),
    "a relative model folder": (
        {"model.source.path": "srv/model"},
        'tandem:model.source.path: "srv/model" can\'t be used here; '
        "write an absolute path without colon and comma [bad-value]",
    ),
    "a backend that is not there": (
        {"backend": "gloo"},
        "tandem:backend: \"gloo\" can't be used here; it should be 'ray' or 'mp' [bad-value]",
    ),
    "a version that YAML reads as a number": (
        {"image.vllm": 0.20},
        "tandem:image.vllm: 0.2 can't be used here; it should be a valid string [bad-value]",
    ),
    "a version in words": (
        {"image.vllm": "latest"},
        'tandem:image.vllm: "latest" can\'t be used here; '
        'write a version in quotes, e.g. "0.19.1" [bad-value]',
    ),
    "memory without a total": (
        {"hosts.0.memory": {"unified": True}},
        "tandem:hosts[0].memory.total: this key is missing; add it to the stack file [missing-key]",
    ),
    "a planner that decides alone": (
        {"planner": "off"},
        "tandem:planner: \"off\" can't be used here; it should be 'enforce' or 'warn' [bad-value]",
    ),
    "neither on nor off": (
        {"survey": "maybe"},
        'tandem:survey: "maybe" can\'t be used here; it should be a valid boolean [bad-value]',
    ),
    "an unknown word as entrypoint": (
        {"image.entrypoint": "bash"},
        'tandem:image.entrypoint: "bash" can\'t be used here; '
        "it should be 'vllm' or 'image' [bad-value]",
    ),
    "a value that is no list": (
        {"hosts": "[{"},
        'tandem:hosts: "[{" can\'t be used here; it should be a valid array [bad-value]',
    ),
}


@pytest.mark.parametrize(("changes", "line"), BAD.values(), ids=BAD)
def test_a_bad_stack_file_is_told_in_one_line(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(InvalidStack) as refused:
        load(changed(1, changes))
    assert str(refused.value) == line


def _keys() -> list[str]:
    """Return every key of the reference as the tests' builders write it."""
    rows = re.findall(r"^\| `(.+?)` ", reference(), re.MULTILINE)
    return [row.replace("[].", ".0.") for row in rows]


def test_every_bad_key_has_a_line_of_its_own() -> None:
    with pytest.raises(InvalidStack) as refused:
        load(changed(2, {"hosts.0.gpu": 1, "hosts.1.address": "x", "model.id": ""}))
    assert [finding.path for finding in refused.value.findings] == [
        "tandem:hosts[0].gpu",
        "tandem:hosts[1].address",
        "tandem:model.id",
    ]


def test_a_long_value_is_cut_in_the_line() -> None:
    with pytest.raises(InvalidStack) as refused:
        load(changed(1, {"hosts.0.name": "X" * 500}))
    assert len(str(refused.value)) < 250
    assert "XXX..." in str(refused.value)


def test_device_ids_may_be_numbers() -> None:
    head = settings(1, {"hosts.0.gpus": [0, 3]}).first_host
    assert head.gpus == ("0", "3")
    assert head.gpu_count == 2


def test_values_of_variables_may_be_numbers() -> None:
    assert settings(1, {"hosts.0.env": {"NCCL_IB_GID_INDEX": 3}}).first_host.env == {
        "NCCL_IB_GID_INDEX": "3"
    }


def test_defaults_hold_where_the_stack_file_says_nothing() -> None:
    read = settings()
    assert (read.backend, read.rdma, read.survey, read.shm_size) == ("ray", True, True, 10 * GIB)
    assert (read.serve.port, read.serve.ready_timeout) == (8000, 2700)
    assert (read.ray.port, read.ray.join_timeout) == (6379, 600)
    assert (read.first_host.gpu_count, read.model.name) == (1, "org/model")


@pytest.mark.parametrize(("text", "value"), [("on", True), ("off", False), ("false", False)])
def test_survey_is_switched_by_on_and_off(text: str, value: bool) -> None:
    assert settings(1, {"survey": text}).survey is value


@pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False)])
def test_rdma_is_read_from_text(text: str, value: bool) -> None:
    assert settings(1, {"rdma": text}).rdma is value


def test_sizes_and_durations_are_read_with_their_units() -> None:
    read = settings(1, {"shmSize": "2GiB", "serve.readyTimeout": "1h30m", "ray.joinTimeout": 90})
    assert (read.shm_size, read.serve.ready_timeout, read.ray.join_timeout) == (2 * GIB, 5400, 90)


def test_what_planning_needs_may_be_declared() -> None:
    read = settings(
        1,
        {
            "hosts.0.memory": {"total": "119.7GiB", "unified": True},
            "image.vllm": "0.19.1",
            "model.config": "config.json",
            "model.weights": "118.4GiB",
            "serve.kvCacheMemory": "8GiB",
            "planner": "warn",
        },
    )
    memory = read.first_host.memory
    assert memory is not None
    assert (memory.total, memory.unified) == (round(119.7 * GIB), True)
    assert (read.image.vllm, read.planner) == ("0.19.1", "warn")
    assert (read.model.config, read.model.weights) == ("config.json", round(118.4 * GIB))
    assert read.serve.kv_cache_memory == 8 * GIB


def test_keys_of_other_namespaces_are_left_alone() -> None:
    with pytest.raises(InvalidStack) as refused:
        load_settings({"pulumi:disable-default-providers": '["docker"]', "aws:region": "x"})
    assert {finding.code for finding in refused.value.findings} == {"missing-key"}


@pytest.mark.parametrize("ssh", ["spark-1", "nvidia@spark-1.lan", "ssh://nvidia@spark-1.lan:2222"])
def test_a_host_is_written_as_typed_after_ssh(ssh: str) -> None:
    assert settings(1, {"hosts.0.ssh": ssh}).first_host.target.destination == ssh


@pytest.mark.parametrize(
    ("reference", "repository", "digest"),
    [
        ("vllm:1", "vllm", None),
        ("10.0.0.9:5000/vllm:1", "10.0.0.9:5000/vllm", None),
        ("10.0.0.9:5000/vllm", "10.0.0.9:5000/vllm", None),
        ("r.example/a/b:1@sha256:" + "0" * 64, "r.example/a/b", "sha256:" + "0" * 64),
    ],
)
def test_a_reference_is_split_into_repository_and_digest(
    reference: str, repository: str, digest: str | None
) -> None:
    image = settings(1, {"image.reference": reference}).image
    assert (image.repository, image.digest) == (repository, digest)


def test_an_api_key_has_to_be_encrypted_in_the_stack_file() -> None:
    values = {f"tandem:{key}": json.dumps(value) for key, value in changed(1, {}).items()}
    values["tandem:apiKey"] = "sesame"
    with pytest.raises(InvalidStack) as invalid:
        load_settings(values, secrets={"other:token"})
    assert str(invalid.value) == (
        "tandem:apiKey: the stack file holds it for everybody to read; "
        "remove the line, then `pulumi config set --secret tandem:apiKey` [secret-in-plain]"
    )
    read = load_settings(values, secrets={"tandem:apiKey"})
    assert read.api_key is not None
    assert read.api_key.get_secret_value() == "sesame"
    assert "sesame" not in repr(read)


@pytest.mark.parametrize("key", _keys())
def test_what_no_pattern_matches_is_told_in_words(key: str) -> None:
    try:
        load(changed(1, {key: " \n"}))
    except InvalidStack as invalid:
        for finding in invalid.findings:
            assert finding.fix
            assert "pattern" not in finding.fix
