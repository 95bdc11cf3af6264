"""Codes of the hosts as they are: what the survey saw, against the stack file."""

from tandem.findings.code import EITHER, ERROR, WARNING, Code, Section

SECTION = Section(
    "Hosts",
    (
        Code(
            "host-unreachable",
            ERROR,
            "There is no connection to a host by SSH.",
            "`ssh HOST docker version` has to work, with what stands in `hosts[].ssh`.",
        ),
        Code(
            "docker-not-usable",
            ERROR,
            "SSH works, but the user there can't use Docker.",
            "Start Docker on the host, and add the user to the group `docker`.",
        ),
        Code(
            "docker-rootless",
            WARNING,
            "Docker on a host is rootless, and its host network is not the host's.",
            "Use the system's Docker there.",
        ),
        Code(
            "address-not-on-host",
            ERROR,
            "No interface of the host has the declared address.",
            "Write one of the addresses that the line lists.",
        ),
        Code(
            "interface-mismatch",
            ERROR,
            "The declared address is on another interface than the declared one.",
            "Correct `hosts[].interface`, or leave it out.",
        ),
        Code(
            "interface-down",
            ERROR,
            "The interface with the declared address is down.",
            "Connect its cable and set it up with `ip link`.",
        ),
        Code(
            "mtu-mismatch",
            WARNING,
            "The interfaces between the hosts have different MTUs.",
            "Set the same MTU on all of them.",
        ),
        Code(
            "path-blocked",
            ERROR,
            "No TCP connection gets from one host to another.",
            "Let all TCP ports through between the hosts.",
        ),
        Code(
            "route-elsewhere",
            WARNING,
            "A host reaches another one through an interface without the declared address.",
            "Declare addresses of one network on all hosts, or correct the route.",
        ),
        Code(
            "name-taken",
            ERROR,
            "A host has a container with a name of this deployment that is not its own.",
            "Rename or remove that container.",
        ),
        Code(
            "port-taken",
            ERROR,
            "Something on the first host has `serve.port` or a port of the backend already.",
            "Stop it, or choose another port.",
        ),
        Code(
            "gpus-not-offered",
            ERROR,
            "Docker on a host can't hand out GPUs.",
            "Install nvidia-container-toolkit, run `nvidia-ctk runtime configure`, restart Docker.",
        ),
        Code(
            "gpu-driver",
            ERROR,
            "`nvidia-smi` on a host ends in an error.",
            "Make `nvidia-smi` list the GPUs there. A new driver needs a reboot.",
        ),
        Code(
            "gpus-missing",
            ERROR,
            "`hosts[].gpus` declares GPUs that the host does not have.",
            "Declare those that the line lists.",
        ),
        Code(
            "gpu-busy",
            WARNING,
            "A process that is not this deployment's holds memory of a declared GPU.",
            "Stop it, or leave it room with `serve.gpuMemoryUtilization`.",
        ),
        Code(
            "rdma-missing",
            ERROR,
            "`rdma` is on, and a host has no `/dev/infiniband`.",
            'Set `rdma: "false"`, or load the driver there.',
        ),
        Code(
            "rdma-device-missing",
            WARNING,
            "`NCCL_IB_HCA` names a device that the host does not have, so NCCL would use TCP.",
            "Write one of the devices that the line lists.",
        ),
        Code(
            "rdma-device-down",
            WARNING,
            "`NCCL_IB_HCA` names a device that is down, so NCCL would use TCP.",
            "Connect its cable, or name another device.",
        ),
        Code(
            "gid-index",
            WARNING,
            "`NCCL_IB_GID_INDEX` is not the RoCE v2 entry of the host's address.",
            "Write the index that the line names, in that host's `env`.",
        ),
        Code(
            "disk-too-small",
            EITHER,
            "Docker's disk on a host has no room for the image or the model. A warning when there"
            " may be no room only while the image is pulled.",
            "Free room there with `docker system prune`, or move Docker's folder to a larger disk.",
        ),
        Code(
            "disk-low",
            WARNING,
            "Docker's disk on a host is nearly full.",
            "Free room there with `docker system prune`.",
        ),
        Code(
            "shm-exceeds-memory",
            WARNING,
            "`shmSize` is more than a host's memory.",
            "Write less: what is in `/dev/shm` is in memory.",
        ),
        Code(
            "clock-skew",
            EITHER,
            "Clocks differ. An error when certificates or tokens may count as expired between two"
            " hosts, else a warning.",
            "Let all machines keep time by NTP.",
        ),
        Code(
            "architecture-skew",
            ERROR,
            "The hosts have processors of different kinds.",
            "Take hosts of one architecture.",
        ),
        Code(
            "driver-skew",
            WARNING,
            "The hosts have different versions of NVIDIA's driver.",
            "Bring the hosts to the same version.",
        ),
        Code(
            "kernel-skew",
            WARNING,
            "The hosts have different versions of the Linux kernel.",
            "Bring the hosts to the same version.",
        ),
        Code(
            "docker-skew",
            WARNING,
            "The hosts have different versions of Docker.",
            "Bring the hosts to the same version.",
        ),
    ),
)
