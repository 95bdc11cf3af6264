"""A copy of the project in a folder of its own, driven through the real Pulumi engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lab.layout import MAX_HOSTS, Site

ROOT = Path(__file__).resolve().parent.parent
API_KEY = "the-key-of-the-tests-7c1d09"
"""What nobody may see."""


@dataclass(frozen=True)
class Run:
    """What a command said, both streams together, and its exit status."""

    code: int
    text: str


@dataclass(frozen=True)
class Project:
    """One stack in a copy of the project, with a backend of its own."""

    folder: Path
    stack: str

    @classmethod
    def copy(cls, folder: Path, stack: str, sample: str) -> Project:
        """Copy the project to ``folder`` and start ``stack`` from a sample of stacks/.

        Names and addresses of the usual lab become those of the lab that is in use.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("tandem", "components", "tools"):
            (folder / name).symlink_to(ROOT / name)
        for name in ("Pulumi.yaml", "__main__.py"):
            shutil.copy(ROOT / name, folder)
        (folder / ".venv").symlink_to(Path(sys.executable).parent.parent)
        (folder / "stacks").mkdir()
        (folder / "backend").mkdir()
        project = cls(folder, stack)
        project.stack_file.write_text(_for_this_lab(ROOT / "stacks" / f"Pulumi.{sample}.yaml"))
        made = project.pulumi("stack", "init", stack)
        assert made.code == 0, made.text
        return project

    @property
    def stack_file(self) -> Path:
        """Return the stack file."""
        return self.folder / "stacks" / f"Pulumi.{self.stack}.yaml"

    def change(self, key: str, value: object) -> None:
        """Set ``key``, e.g. ``hosts.0.address``, in the stack file; None removes it."""
        data = yaml.safe_load(self.stack_file.read_text())
        first, *rest = key.split(".")
        place: Any = data["config"]
        parts: list[str | int] = [f"tandem:{first}", *(int(p) if p.isdigit() else p for p in rest)]
        for part in parts[:-1]:
            place = place[part]
        if value is None:
            del place[parts[-1]]
        else:
            place[parts[-1]] = value
        self.stack_file.write_text(yaml.safe_dump(data, sort_keys=False))

    def pulumi(self, *arguments: str) -> Run:
        """Run ``pulumi`` in the project and return what it said."""
        return self._run("pulumi", "--non-interactive", "--color=never", *arguments)

    def tandem(self, *arguments: str) -> Run:
        """Run ``python -m tandem`` in the project and return what it said."""
        return self._run("python", "-m", "tandem", *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start ``pulumi`` in the project and return at once; what it says is lost."""
        return subprocess.Popen(
            [ROOT / "tools" / "run", "pulumi", "--non-interactive", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that commands of the project run with."""
        return dict(os.environ) | {
            "PULUMI_BACKEND_URL": f"file://{self.folder}/backend?metadata=skip",
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_STACK": self.stack,
        }

    def _run(self, *words: str) -> Run:
        done = subprocess.run(
            [ROOT / "tools" / "run", *words],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert not shown_secrets(done.stdout), f"a secret is in what {words[0]} said"
        return Run(done.returncode, done.stdout)

    def up(self, *arguments: str) -> Run:
        """Run ``pulumi up``."""
        return self.pulumi("up", "--yes", "--skip-preview", *arguments)

    def outputs(self) -> dict[str, Any]:
        """Return the stack's outputs."""
        said = self.pulumi("stack", "output", "--json")
        assert said.code == 0, said.text
        outputs: dict[str, Any] = json.loads(said.text)
        return outputs

    def planned(self, *arguments: str) -> dict[str, str]:
        """Return what a preview would do by resource name, unchanged ones left out."""
        done = self.pulumi("preview", "--json", *arguments)
        steps = json.loads(done.text[done.text.index("{\n") :])["steps"]
        return {
            step["urn"].rpartition("::")[2]: step["op"] for step in steps if step["op"] != "same"
        }


def _for_this_lab(sample: Path) -> str:
    """Return a sample with names and addresses of the lab that is in use."""
    here, usual = Site.from_environment(), Site()
    text = sample.read_text().replace(str(usual.ssh_config), str(here.ssh_config))
    text = text.replace(usual.registry, here.registry)
    for index in range(1, MAX_HOSTS + 1):
        text = text.replace(f"{usual.host_address(index)}\n", f"{here.host_address(index)}\n")
    return text


def shown_secrets(text: str) -> list[str]:
    """Return what a text holds of the API's key and of the lab's private keys."""
    keys = list(Site.from_environment().ssh.glob("*_ed25519"))
    assert keys, "no lab is up"
    lines = (line for key in keys for line in key.read_text().splitlines())
    secrets = [API_KEY, *(line for line in lines if not line.startswith("-----"))]
    return [secret for secret in secrets if secret in text]
