"""The text of the SSH client's configuration and known hosts."""

from collections.abc import Mapping

from lab.layout import Site

_COMMON = """\
# Made by Tandem's lab. Use: ssh -F {config} lab-1
Host lab-*
    IdentityFile {ssh}/id_ed25519
    IdentitiesOnly yes
    IdentityAgent none
    BatchMode yes
    StrictHostKeyChecking yes
    GlobalKnownHostsFile none
    # One machine computes both ends of every connection, and OpenSSH's usual choice takes three
    # times as long.
    KexAlgorithms ^curve25519-sha256
"""

_HOST = """
Host {name} {name}-*
    HostName {address}
    HostKeyAlias {name}
Host {name}-tandem
    User tandem
Host {name}-visitor
    User visitor
Host {name}-jump
    Port 2222
    ProxyJump {jump}
Host {name}-stranger
    UserKnownHostsFile {ssh}/known_hosts_stranger
"""

_DEFAULTS = """
Host lab-*
    User root
    UserKnownHostsFile {ssh}/known_hosts
"""


def render(site: Site, hosts: int) -> str:
    """Return the configuration for `ssh -F`, with every alias of every host.

    The aliases of host lab-1: lab-1 (root), lab-1-tandem, lab-1-visitor, lab-1-jump (through
    lab-1 to port 2222) and lab-1-stranger (whose known host key is another one).
    """
    # OpenSSH takes the first value it finds, so the defaults come last.
    text = _COMMON.format(config=site.ssh_config, ssh=site.ssh)
    for index in range(1, hosts + 1):
        text += _HOST.format(
            name=site.host_name(index),
            address=site.host_address(index),
            jump=site.host_name(1),
            ssh=site.ssh,
        )
    return text + _DEFAULTS.format(ssh=site.ssh)


def known_hosts(keys: Mapping[str, str]) -> str:
    """Return known_hosts lines for public keys by host name, without their comments."""
    lines = []
    for name, key in keys.items():
        kind, body = key.split()[:2]
        lines.append(f"{name} {kind} {body}\n")
    return "".join(lines)
