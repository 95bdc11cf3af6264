"""The lab's network: one bridge, and a network namespace with a cable to it for each host."""

import json
from ipaddress import ip_interface, ip_network
from pathlib import Path

from lab.errors import LabError
from lab.layout import Site
from lab.shell import attempt, run

NAMESPACES = Path("/run/netns")


def check_free(site: Site) -> None:
    """Raise LabError when an interface that is not the lab's has an address of its network."""
    network = ip_network(site.subnet)
    for interface in json.loads(run(["ip", "-json", "address"])):
        if interface["ifname"] == site.bridge:
            continue
        for entry in interface["addr_info"]:
            address = ip_interface(f"{entry['local']}/{entry['prefixlen']}")
            if address.version == 4 and address.network.overlaps(network):
                raise LabError(
                    f"the lab's network {network} is in use: {interface['ifname']} has {address}"
                )


def create_bridge(site: Site) -> None:
    """Create the bridge with the gateway's address and let it forward between hosts."""
    run(["ip", "link", "add", site.bridge, "type", "bridge"])
    run(["ip", "address", "add", f"{site.gateway}/24", "dev", site.bridge])
    run(["ip", "link", "set", site.bridge, "up"])
    # A Docker of the machine itself sets the policy of FORWARD to DROP, for bridged frames too.
    run(["iptables", "-w", "-I", "FORWARD", *_forward_rule(site)])


def delete_bridge(site: Site) -> None:
    """Delete the bridge and its firewall rule, if they are there."""
    while attempt(["iptables", "-w", "-D", "FORWARD", *_forward_rule(site)]).returncode == 0:
        pass
    if _link_exists(site.bridge):
        run(["ip", "link", "delete", site.bridge])


def connect(site: Site, index: int) -> None:
    """Create the namespace of a host, its eth0 with address and default route, and the cable."""
    namespace, cable = site.namespace(index), site.link(index)
    run(["ip", "netns", "add", namespace])
    inside = ["ip", "-netns", namespace]
    # The same after each boot, as of a real machine: peers remember it for half a minute.
    hardware_address = f"02:74:6c:00:{site.number:02x}:{index:02x}"
    run(
        [
            *("ip", "link", "add", cable, "type", "veth"),
            *("peer", "name", "eth0", "address", hardware_address, "netns", namespace),
        ]
    )
    run(["ip", "link", "set", cable, "master", site.bridge, "up"])
    run([*inside, "link", "set", "lo", "up"])
    run([*inside, "address", "add", f"{site.host_address(index)}/24", "dev", "eth0"])
    run([*inside, "link", "set", "eth0", "up"])
    run([*inside, "route", "add", "default", "via", site.gateway])


def disconnect(site: Site, index: int) -> None:
    """Delete the cable and the namespace of a host, if they are there.

    The cable goes first, so that no peer hears of the connections that end with the namespace.
    """
    if _link_exists(site.link(index)):
        run(["ip", "link", "delete", site.link(index)])
    if (NAMESPACES / site.namespace(index)).exists():
        run(["ip", "netns", "delete", site.namespace(index)])


def set_link(site: Site, index: int, *, up: bool) -> None:
    """Plug the cable of a host in, or pull it out."""
    run(["ip", "link", "set", site.link(index), "up" if up else "down"])


def link_is_up(site: Site, index: int) -> bool:
    """Tell whether the cable of a host is there and plugged in."""
    if not _link_exists(site.link(index)):
        return False
    return "UP" in json.loads(run(["ip", "-json", "link", "show", site.link(index)]))[0]["flags"]


def namespaces(site: Site) -> list[int]:
    """Return the numbers of the hosts that have a namespace, also those of an earlier lab."""
    prefix = f"{site.bridge}-"
    names = [path.name for path in NAMESPACES.glob(f"{prefix}*")]
    return sorted(int(name.removeprefix(prefix)) for name in names)


def _forward_rule(site: Site) -> list[str]:
    bridge = site.bridge
    return ["-i", bridge, "-o", bridge, "-m", "comment", "--comment", bridge, "-j", "ACCEPT"]


def _link_exists(name: str) -> bool:
    return Path("/sys/class/net", name).exists()
