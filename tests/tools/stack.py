"""A tiny Pulumi project for the tests of the command plugin."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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
