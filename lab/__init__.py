"""Local Docker hosts to try and test on: network namespaces with a dockerd and an sshd each."""

from lab.api import Lab
from lab.errors import LabError
from lab.host import Host
from lab.processes import Process

__all__ = ["Host", "Lab", "LabError", "Process"]
