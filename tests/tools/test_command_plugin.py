"""The real engine and the installed command plugin; `python3 -m tools install` comes first."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.golang import find_go
from tools.layout import HERE, environment

PROJECT = """\
name: gates
runtime: python
config:
  pulumi:disable-default-providers: {value: [docker]}
"""

# What a test declares is in declared.json: the arguments of the command, and a docker host if any.
PROGRAM = """\
import json
from pathlib import Path

import pulumi
import pulumi_docker as docker
from pulumi_command import local

declared = json.loads(Path("declared.json").read_text())
if host := declared.get("docker"):
    provider = docker.Provider("host", host=host)
    docker.Volume("volume", name="vv", opts=pulumi.ResourceOptions(provider=provider))
arguments = declared["command"]
if secret := declared.get("secret"):
    arguments["environment"] = {"SECRET": pulumi.Output.secret(secret)}
gate = local.Command("gate", **arguments)
pulumi.export("stdout", gate.stdout)
"""

SECONDS = 120


class Stack:
    """One stack of a tiny project, in a folder and a backend of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "Pulumi.yaml").write_text(PROJECT)
        (folder / "__main__.py").write_text(PROGRAM)
        (folder / "state").mkdir()
        base = {
            **os.environ,
            "PULUMI_BACKEND_URL": f"file://{folder}/state",
            "PULUMI_CONFIG_PASSPHRASE": "",
        }
        env = environment(HERE, base)
        # The language host runs the first python on PATH: the one that runs this test has the SDKs.
        self.env = {**env, "PATH": f"{Path(sys.executable).parent}:{env['PATH']}"}
        self.pulumi("stack", "init", "test")

    def declare(self, **declared: Any) -> None:
        (self.folder / "declared.json").write_text(json.dumps(declared))

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["pulumi", *arguments, "--non-interactive", "--color", "never"],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def pulumi(self, *arguments: str, fails: bool = False) -> str:
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=SECONDS)
        assert (process.returncode != 0) is fails, output
        assert "warning" not in output.lower(), output
        return output

    def up(self, *more: str) -> str:
        return self.pulumi("up", "--yes", "--skip-preview", *more)

    def stdout(self) -> str:
        return str(json.loads(self.pulumi("stack", "output", "--json", "--show-secrets"))["stdout"])


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    return Stack(tmp_path)


def within(seconds: float, what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)


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


def test_a_secret_stays_secret_in_the_state(stack: Stack) -> None:
    stack.declare(command={"create": 'echo "$SECRET"', "logging": "none"}, secret="hush-hush")
    assert "hush-hush" not in stack.up()
    assert "hush-hush" not in stack.pulumi("stack", "export")
    assert stack.stdout() == "hush-hush"


def test_a_failing_command_fails_the_deployment_and_is_run_again(stack: Stack) -> None:
    stack.declare(command={"create": "echo the reason >&2; test -e mended || exit 3"})
    output = stack.pulumi("up", "--yes", "--skip-preview", fails=True)
    assert "exit status 3" in output
    assert "the reason" in output
    (stack.folder / "mended").touch()
    stack.up()


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, None), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_command_does_not_outlive_pulumi(
    number: signal.Signals, status: int | None, stack: Stack
) -> None:
    stack.declare(command={"create": "echo $$ > pid.new; mv pid.new pid; exec sleep 300"})
    process = stack.start("up", "--yes", "--skip-preview")
    pid_file = stack.folder / "pid"
    within(SECONDS, "the command runs", pid_file.exists)
    pid = int(pid_file.read_text())
    process.send_signal(number)
    within(20, "the command has ended", lambda: not is_running(pid))
    process.communicate(timeout=SECONDS)
    assert process.returncode == status if status else process.returncode > 0


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2]
    except FileNotFoundError:
        return False
    return not state.startswith("Z")  # a zombie has ended, whoever should have buried it


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
