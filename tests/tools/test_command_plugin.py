"""The real engine and the installed command plugin; `python3 -m tools install` comes first."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.tools.stack import SECONDS, Stack
from tools.golang import find_go
from tools.layout import HERE


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path)


def test_life_of_a_command(stack: Stack) -> None:
    folder = stack.folder / "elsewhere"
    folder.mkdir()
    command = {
        "create": 'pwd; echo "$WORD"; cat; echo x >> ../runs',
        "delete": 'echo "$PULUMI_COMMAND_STDOUT" > ../deleted',
        "stdin": "from stdin",
        "environment": {"WORD": "from environment"},
        "dir": str(folder),
        "triggers": ["1"],
    }
    runs = stack.folder / "runs"

    def apply(**changes: Any) -> str:
        command.update(changes)
        stack.declare(command=command)
        return stack.up("--diff")

    stack.declare(command=command)
    assert "create" in stack.pulumi("preview")
    assert not runs.exists()
    apply()
    assert stack.stdout() == f"{folder}\nfrom environment\nfrom stdin"

    stack.up("--expect-no-changes")
    stack.pulumi("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    assert runs.read_text() == "x\n"

    assert "~ command:local:Command: (update)" in apply(stdin="changed")
    assert stack.stdout().endswith("changed")
    assert runs.read_text() == "x\n" * 2
    assert not (stack.folder / "deleted").exists()

    assert "replaced" in apply(triggers=["2"])
    assert runs.read_text() == "x\n" * 3
    assert (stack.folder / "deleted").read_text().endswith("changed\n")

    (stack.folder / "deleted").unlink()
    stack.pulumi("destroy", "--yes", "--skip-preview")
    assert (stack.folder / "deleted").exists()
    assert runs.read_text() == "x\n" * 3


def test_a_command_runs_in_the_folder_of_the_project(stack: Stack) -> None:
    stack.declare(command={"create": "pwd"})
    stack.up()
    assert stack.stdout() == str(stack.folder)


def test_lines_are_shown_as_they_come(stack: Stack) -> None:
    stack.declare(command={"create": "echo here; while [ ! -e go-on ]; do sleep 0.1; done"})
    process = stack.start("up", "--yes", "--skip-preview")
    assert process.stdout is not None
    # Read until the line is there; only then may the command end.
    assert any("creating" in line and "here" in line for line in process.stdout)
    (stack.folder / "go-on").touch()
    process.communicate(timeout=SECONDS)
    assert process.returncode == 0


def test_a_secret_input_stays_secret_and_what_a_command_prints_does_not(stack: Stack) -> None:
    command = {"create": "echo seen: ${#SECRET}; echo plain >&2", "logging": "none"}
    stack.declare(command=command, secret="hush-hush")
    assert "hush-hush" not in stack.up()
    state = stack.pulumi("stack", "export")
    assert "hush-hush" not in state
    outputs = next(
        resource["outputs"]
        for resource in json.loads(state)["deployment"]["resources"]
        if resource["type"] == "command:local:Command"
    )
    assert (outputs["stdout"], outputs["stderr"]) == ("seen: 9", "plain")


def test_a_preview_shows_what_changes_within_lists_and_maps(stack: Stack) -> None:
    def declare(word: str) -> None:
        stack.declare(
            command={"create": "true", "environment": {"KEPT": "kept", "WORD": word}, "stdin": word}
        )

    declare("old")
    stack.up()
    declare("new")
    shown = stack.pulumi("preview", "--diff")
    for line in ('~ WORD: "old" => "new"', "~ stdin", "~ environment"):
        assert line in shown
    assert "KEPT" not in shown


def test_a_preview_shows_the_trigger_that_replaces(stack: Stack) -> None:
    for trigger in ("old", "new"):
        stack.declare(command={"create": "true", "triggers": ["same", trigger]})
        if trigger == "old":
            stack.up()
    shown = stack.pulumi("preview", "--diff")
    assert "replace" in shown
    assert "~ triggers" in shown
    assert '~ [1]: "old" => "new"' in shown


def test_a_failing_command_fails_the_deployment_and_is_run_again(stack: Stack) -> None:
    stack.declare(command={"create": "echo the reason >&2; test -e mended || exit 3"})
    output = stack.pulumi("up", "--yes", "--skip-preview", fails=True)
    assert "exit status 3: running " in output
    assert "the reason" in output
    (stack.folder / "mended").touch()
    stack.up()


def test_a_failure_shows_all_that_the_command_printed(stack: Stack) -> None:
    create = "echo the first line; seq 100000 120000; echo the last line; exit 3"
    stack.declare(command={"create": create, "logging": "none"})
    output = stack.pulumi("up", "--yes", "--skip-preview", fails=True)
    shown = [line.strip() for line in output.splitlines()]
    first = shown.index("the first line")
    assert shown[first + 1 : first + 20002] == [str(number) for number in range(100000, 120001)]
    assert shown[first + 20002] == "the last line"


@pytest.mark.parametrize("stream", [1, 2])
def test_output_that_is_not_utf_8_fails_each_time_although_the_command_ran(
    stream: int, stack: Stack
) -> None:
    stack.declare(command={"create": f"echo x >> runs; printf '\\377' >&{stream}"})
    for times in (1, 2):
        output = stack.pulumi("up", "--yes", "--skip-preview", fails=True)
        # gRPC's words with the official plugin, those of a newer SDK with the stand-in.
        assert re.search("invalid UTF-8|non-UTF8 bytes", output)
        assert (stack.folder / "runs").read_text() == "x\n" * times


def test_a_line_that_would_stop_the_official_plugin_fails(stack: Stack) -> None:
    long = "head -c 65536 /dev/zero | tr '\\0' x"
    stack.declare(command={"create": f"{{ {long}; echo; exec sleep 300; }} >&2"})
    output = stack.pulumi("up", "--yes", "--skip-preview", fails=True)
    assert "64 KiB" in output
    assert "the official plugin" in output


def test_the_docker_plugin_loads_without_reaching_its_host(stack: Stack) -> None:
    stack.declare(command={"create": "true"}, docker="ssh://x")
    for _ in range(2):
        assert "docker:index:Volume volume create" in stack.pulumi("preview")


def test_units_of_the_stand_in() -> None:
    command = [str(find_go(HERE)), "test", "-mod=readonly", "-trimpath", "-buildvcs=false"]
    for module in ("command", "docker"):
        tags = ["-tags", "no_compose"] if module == "docker" else []
        done = subprocess.run(
            [*command, *tags, "-timeout", "120s", "./..."],
            cwd=HERE.sources / module,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
