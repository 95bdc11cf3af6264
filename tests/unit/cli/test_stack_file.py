"""Stack files, read without Pulumi."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tandem.cli.stack_file import read_stack_file
from tandem.errors import InvalidStack
from tests.builders import changed

SEALED = "v1:Z0EsLLJSWPU=:v1:wuBtNo4B2i6M1QAO:yDDKXu70ZbsAFjFnYRzom8"


def write(folder: Path, changes: dict[str, Any] | None = None) -> Path:
    """Write the least of a stack file."""
    data = changed(1, changes or {})
    path = folder / "Pulumi.prod.yaml"
    path.write_text(yaml.safe_dump({"config": {f"tandem:{key}": data[key] for key in data}}))
    return path


def test_a_path_is_read_and_names_the_stack(tmp_path: Path) -> None:
    stack = read_stack_file(str(write(tmp_path)))
    assert (stack.name, stack.folder) == ("prod", tmp_path)
    assert stack.settings.first_host.name == "host-1"


def test_a_name_is_looked_up_among_the_stacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stacks").mkdir()
    write(tmp_path / "stacks")
    monkeypatch.chdir(tmp_path)
    assert read_stack_file("prod").name == "prod"
    with pytest.raises(InvalidStack, match="known here: prod"):
        read_stack_file("production")


def test_secrets_stay_sealed_and_break_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, {"serve.env": {"TOKEN": {"secure": SEALED}, "OTHER": "1"}})
    settings = read_stack_file(str(path)).settings
    assert settings.serve.env == {"TOKEN": "(secret)", "OTHER": "1"}
    assert SEALED not in settings.model_dump_json()


def test_a_key_that_is_encrypted_whole_can_be_used_without_being_known(tmp_path: Path) -> None:
    settings = read_stack_file(str(write(tmp_path, {"apiKey": {"secure": SEALED}}))).settings
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "encrypted"


def test_a_secret_in_a_list_stays_sealed(tmp_path: Path) -> None:
    path = write(tmp_path, {"serve.args": ["--api-token", {"secure": SEALED}]})
    assert read_stack_file(str(path)).settings.serve.args == ("--api-token", "(secret)")


def test_where_there_is_no_stack_at_all_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidStack) as invalid:
        read_stack_file("prod")
    assert str(invalid.value) == (
        "prod: there is neither this file nor stacks/Pulumi.prod.yaml; known here: none "
        "[no-stack-file]"
    )


def test_a_secret_in_the_wrong_place_is_not_shown(tmp_path: Path) -> None:
    path = write(tmp_path, {"serve.port": {"secure": SEALED}})
    with pytest.raises(InvalidStack) as invalid:
        read_stack_file(str(path))
    assert "(secret)" in str(invalid.value)
    assert SEALED not in str(invalid.value)


def test_a_key_can_be_laid_over(tmp_path: Path) -> None:
    path = str(write(tmp_path))
    assert read_stack_file(path, ["hosts.0.gpus=2"]).settings.first_host.gpus == 2
    assert read_stack_file(path, ["tandem:serve.port=9000"]).settings.serve.port == 9000
    assert read_stack_file(path, ["restarts.limit=7"]).settings.restarts.limit == 7
    assert read_stack_file(path, ["serve.env.A=a=b"]).settings.serve.env == {"A": "a=b"}
    assert read_stack_file(path, ["rdma=false", "rdma="]).settings.rdma is True


@pytest.mark.parametrize("change", ["hosts.7.gpus=2", "hosts.gpus=2", "rdma=", "serve.args=["])
def test_a_value_that_can_not_be_laid_over_is_told(tmp_path: Path, change: str) -> None:
    key, _, value = change.partition("=")
    with pytest.raises(InvalidStack) as invalid:
        read_stack_file(str(write(tmp_path)), [change])
    assert (
        str(invalid.value)
        == f"--set: {key} can't be set to {value!r}; see docs/keys.md [bad-change]"
    )


@pytest.mark.parametrize("change", ["serve.port", "=1", "tandem:=1"])
def test_a_change_without_a_key_or_a_value_is_told(tmp_path: Path, change: str) -> None:
    with pytest.raises(InvalidStack) as invalid:
        read_stack_file(str(write(tmp_path)), [change])
    assert str(invalid.value) == (
        f'--set: "{change}" is no KEY=VALUE; write e.g. serve.maxModelLen=32768 [bad-change]'
    )


@pytest.mark.parametrize(
    ("text", "code"), [("config: [", "not-yaml"), ("config:\n", "no-config"), ("a", "no-config")]
)
def test_a_file_that_is_no_stack_file_is_told_in_one_line(
    tmp_path: Path, text: str, code: str
) -> None:
    path = tmp_path / "Pulumi.bad.yaml"
    path.write_text(text)
    with pytest.raises(InvalidStack) as invalid:
        read_stack_file(str(path))
    assert [finding.code for finding in invalid.value.findings] == [code]
    assert "\n" not in str(invalid.value)


def test_values_are_those_that_pulumi_hands_over(tmp_path: Path) -> None:
    path = write(tmp_path, {"rdma": "false", "survey": False})
    settings = read_stack_file(str(path)).settings
    assert (settings.rdma, settings.survey) == (False, False)
    assert json.loads(settings.model_dump_json())["survey"] is False
