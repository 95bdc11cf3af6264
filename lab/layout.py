"""Where everything of a lab is: fixed names, so that any checkout finds what another one left."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError

CACHE = Path("/var/cache/tandem-lab")
MAX_HOSTS = 16
MAX_SITES = 10
REGISTRY_PORT = 5000


@dataclass(frozen=True)
class Site:
    """The names and addresses of one lab; number 0 is the usual one, others can run beside it."""

    number: int = 0

    @classmethod
    def from_environment(cls) -> "Site":
        """Return the site that TANDEM_LAB_NUMBER selects, number 0 when it is not set.

        Raises LabError when the number is not one from 0 to 9.
        """
        text = os.environ.get("TANDEM_LAB_NUMBER", "0")
        if not re.fullmatch(r"\d", text):
            raise LabError(f"TANDEM_LAB_NUMBER must be a number from 0 to 9, not {text!r}")
        return cls(int(text))

    @property
    def state(self) -> Path:
        """The folder of everything that `down` removes."""
        return Path("/var/lib", f"tandem-lab-{self.number}" if self.number else "tandem-lab")

    @property
    def ssh(self) -> Path:
        """The folder of the SSH client's files."""
        return self.state / "ssh"

    @property
    def ssh_config(self) -> Path:
        """The file for `ssh -F`."""
        return self.ssh / "config"

    @property
    def bridge(self) -> str:
        """The name of the bridge, which also marks firewall rules and control groups."""
        return f"tandem-lab{self.number}"

    @property
    def gateway(self) -> str:
        """The address of the bridge: the operator's machine as the hosts see it."""
        return f"10.77.{self.number}.254"

    @property
    def subnet(self) -> str:
        """The network of the lab in CIDR notation."""
        return f"10.77.{self.number}.0/24"

    @property
    def registry(self) -> str:
        """The host and port part of image references."""
        return f"{self.gateway}:{REGISTRY_PORT}"

    def host_name(self, index: int) -> str:
        """Return the name of host number index, counted from 1."""
        return f"lab-{index}"

    def host_address(self, index: int) -> str:
        """Return the address of host number index, counted from 1."""
        return f"10.77.{self.number}.{index}"

    def namespace(self, index: int) -> str:
        """Return the name of the network namespace of host number index."""
        return f"{self.bridge}-{index}"

    def link(self, index: int) -> str:
        """Return the name of the bridge's end of the cable to host number index."""
        return f"tl{self.number}-{index}"

    def host_folder(self, index: int) -> Path:
        """Return the folder of the disk and files of host number index."""
        return self.state / "hosts" / self.host_name(index)
