"""A stack of the lab for the survey to look at, and what is staged on its hosts."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab import Lab
    from lab.host import Host

ROOT = Path(__file__).parents[2]
STATE = (
    "docker ps -aq; docker volume ls -q; docker images -q | sort; ls -laR /srv/models; ls -la /tmp"
)


@dataclass
class Stack:
    """The lab's sample stack, pinned, for whichever lab is up."""

    file: Path
    config: dict[str, Any]
    hosts: tuple[Host, ...]

    @classmethod
    def of(cls, lab: Lab, folder: Path) -> Stack:
        """Return a stack that has nothing wrong."""
        data = yaml.safe_load((ROOT / "stacks" / "Pulumi.lab.yaml").read_text())
        config: dict[str, Any] = data["config"]
        config["tandem:image"]["reference"] = lab.image
        for declared, host in zip(config["tandem:hosts"], lab.hosts, strict=True):
            declared |= {"address": host.address, "sshOptions": ["-F", str(lab.ssh_config)]}
        return cls(folder / "Pulumi.surveyed.yaml", config, lab.hosts)

    def survey(self) -> tuple[int, dict[str, dict[str, Any]]]:
        """Return the exit status and the findings by code; one code twice is an error here.

        Nothing on the hosts may be another thing afterwards.
        """
        before = self._state()
        found = self._survey()
        assert self._state() == before
        return found

    def _state(self) -> list[str]:
        return [host.ssh(f"timeout 5 sh -c '{STATE}'").stdout for host in self.hosts]

    def _survey(self) -> tuple[int, dict[str, dict[str, Any]]]:
        self.file.write_text(yaml.safe_dump({"config": self.config}))
        done = subprocess.run(
            [sys.executable, "-m", "tandem", "survey", "--json", self.file],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stderr == ""
        findings = json.loads(done.stdout)["findings"]
        by_code = {finding["code"]: finding for finding in findings}
        assert len(by_code) == len(findings), findings
        return done.returncode, by_code


@contextmanager
def staged(host: Host, setup: str, cleanup: str) -> Iterator[None]:
    """Run a command on a host for as long as the block runs, and another one after it."""
    try:
        done = host.ssh(setup)
        assert done.returncode == 0, done.stderr
        yield
    finally:
        host.ssh(cleanup)


def told(found: dict[str, dict[str, Any]], code: str, *words: str) -> None:
    """Check that this is the only finding and that it has the words."""
    assert list(found) == [code], found
    for word in words:
        assert word in found[code]["message"], found[code]
