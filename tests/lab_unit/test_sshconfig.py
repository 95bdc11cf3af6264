"""The SSH client's configuration, as OpenSSH itself understands it."""

import subprocess
from pathlib import Path

import pytest

from lab import sshconfig
from lab.layout import Site


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(sshconfig.render(Site(), 2))
    return path


def settings(config: Path, destination: str) -> dict[str, str]:
    """What `ssh -G` makes of a destination; keys are in lower case."""
    result = subprocess.run(
        ["ssh", "-G", "-F", config, destination], capture_output=True, text=True, check=True
    )
    return dict(line.split(" ", 1) for line in result.stdout.splitlines() if " " in line)


@pytest.mark.parametrize(
    ("alias", "user", "port", "known_hosts"),
    [
        ("lab-2", "root", "22", "known_hosts"),
        ("lab-2-tandem", "tandem", "22", "known_hosts"),
        ("lab-2-visitor", "visitor", "22", "known_hosts"),
        ("lab-2-jump", "root", "2222", "known_hosts"),
        ("lab-2-stranger", "root", "22", "known_hosts_stranger"),
    ],
)
def test_alias(config: Path, alias: str, user: str, port: str, known_hosts: str) -> None:
    found = settings(config, alias)
    assert found["hostname"] == "10.77.0.2"
    assert found["user"] == user
    assert found["port"] == port
    assert found["hostkeyalias"] == "lab-2"
    assert found["userknownhostsfile"] == f"/var/lib/tandem-lab/ssh/{known_hosts}"
    assert found["stricthostkeychecking"] == "true"
    assert found["identityfile"] == "/var/lib/tandem-lab/ssh/id_ed25519"
    assert found.get("proxyjump") == ("lab-1" if alias.endswith("jump") else None)


def test_a_host_is_not_taken_for_one_whose_name_begins_alike(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(sshconfig.render(Site(), 11))
    assert settings(path, "lab-11-tandem")["hostname"] == "10.77.0.11"
    assert settings(path, "lab-1-tandem")["hostname"] == "10.77.0.1"


def test_known_hosts_leaves_comments_out() -> None:
    assert sshconfig.known_hosts({"lab-1": "ssh-ed25519 AAAA lab operator\n"}) == (
        "lab-1 ssh-ed25519 AAAA\n"
    )
