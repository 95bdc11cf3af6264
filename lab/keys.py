"""Keys of one lab: the operator's, and one of each host."""

from pathlib import Path

from lab import sshconfig
from lab.layout import Site
from lab.shell import run


def write(site: Site, hosts: int) -> None:
    """Make new keys, and write the SSH client's files and each host's files for the SSH server."""
    site.ssh.mkdir(parents=True, mode=0o700)
    operator_key = _make_key(site.ssh / "id_ed25519", "lab operator")
    stranger_key = _make_key(site.ssh / "stranger_ed25519", "not the key of any host")
    known_hosts = {}
    for index in range(1, hosts + 1):
        name = site.host_name(index)
        etc = site.host_folder(index) / "seed" / "etc" / "ssh"
        etc.mkdir(parents=True)
        known_hosts[name] = _make_key(etc / "ssh_host_ed25519_key", name)
        (etc / "authorized_keys").write_text(operator_key)
    (site.ssh / "known_hosts").write_text(sshconfig.known_hosts(known_hosts))
    (site.ssh / "known_hosts_stranger").write_text(
        sshconfig.known_hosts(dict.fromkeys(known_hosts, stranger_key))
    )
    site.ssh_config.write_text(sshconfig.render(site, hosts))


def _make_key(path: Path, comment: str) -> str:
    """Make a key pair and return its public half as a line of text."""
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path])
    public = path.with_name(f"{path.name}.pub").read_text()
    return public
